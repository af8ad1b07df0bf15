-- take_floor_scan_turn: may this worker claim below the floor now? One worker per pool may once a second, so
--                       that a row that came back below the floor is claimed and cannot freeze virtual time.
--                       It does not wait for the disk: a turn that a server crash forgets is taken again.
-- locks: the pool's floor_scans row (skip locked).
-- index: floor_scans_pkey, inside the function.
select fairlead.take_floor_scan_turn(%(pool)s) as ours
