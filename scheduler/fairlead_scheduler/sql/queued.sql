-- queued: all of work_queue for one pool, and the floor in force: where the books begin and what they
--         are checked against.
-- locks: none.
-- index: work_queue_pkey, claim_floors_pkey
select (extract(epoch from now()) * 1e6)::bigint as now_us, q.floor,
       q.job_ids, q.queues, q.tenants, q.vtags, q.estimates_us, q.claimed_us, q.workers
from (
    select (select f.vtag from fairlead.claim_floors f
            where f.pool = %(pool)s and f.band = %(band)s) as floor,
           array_agg(q.job_id) as job_ids, array_agg(q.queue) as queues,
           array_agg(q.tenant) as tenants, array_agg(q.vtag) as vtags,
           array_agg(q.estimate_us) as estimates_us,
           array_agg((extract(epoch from q.claimed_at) * 1e6)::bigint) as claimed_us,
           array_agg(q.worker) as workers
    from (
        select * from fairlead.work_queue w
        where w.job_id > 0 and w.pool = %(pool)s and w.band = %(band)s order by w.job_id) q
) q
