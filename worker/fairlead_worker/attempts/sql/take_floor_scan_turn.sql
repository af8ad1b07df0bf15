-- take_floor_scan_turn: may this worker claim below the floor now? One worker per pool may once a second, so
--                       that a row that came back below the floor is claimed and cannot freeze virtual time.
--                       It does not wait for the disk: a turn that a server crash forgets is taken again.
-- locks: the pool's claim_floors rows (skip locked).
-- index: claim_floors_pkey
update fairlead.claim_floors f set full_claim_at = now()
where f.pool = %(pool)s and f.band = any (array(
    select c.band from fairlead.claim_floors c
    where c.pool = %(pool)s and c.full_claim_at < now() - interval '1 second'
    for update skip locked))
returning f.band, set_config('synchronous_commit', 'off', true)
