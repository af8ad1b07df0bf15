-- claimable: is there a row that a claim would take, from the floor on or also below it, and is it time for
--            any worker to claim below it? A claim locks the worker's row and so writes to the log, even
--            when it finds nothing; this only reads.
-- locks: none.
-- index: claim_floors_pkey, work_queue_claim_order
select coalesce(bool_or(exists (
           select from fairlead.work_queue w
           where w.pool = %(pool)s and w.band = f.band and w.band >= 0 and w.worker is null
             and w.vtag >= case when %(below_floor)s then -1 else f.vtag end
           order by w.vtag, w.job_id limit 1)), false) as claimable,
       coalesce(bool_or(f.full_claim_at < now() - interval '1 second'), false) as turn_due
from fairlead.claim_floors f
where f.pool = %(pool)s
