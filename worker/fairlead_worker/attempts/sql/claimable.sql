-- claimable: is there a row that a claim would take, from the floor on or also below it, and is it time for
--            any worker to claim below it? A claim locks the worker's row and so writes to the log, even
--            when it finds nothing; this only reads.
-- locks: none.
-- index: claim_floors_pkey, floor_scans_pkey, work_queue_claim_order, inside the function.
select c.claimable, c.turn_due from fairlead._claimable(%(pool)s, %(below_floor)s) c
