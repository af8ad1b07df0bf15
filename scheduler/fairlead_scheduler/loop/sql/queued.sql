-- queued: all of work_queue and the floors in force: what a new leader's ledger starts from, and what audits
--         compare it with.
-- locks: none.
-- index: work_queue_pkey, claim_floors_pkey
select (extract(epoch from now()) * 1e6)::bigint as now_us, f.floor_bands, f.floors,
       q.job_ids, q.queues, q.tenants, q.vtags, q.estimates_us, q.claimed_us, q.workers, q.bands,
       q.pools, f.floor_pools
from (
    select array_agg(f.band) as floor_bands, array_agg(f.vtag) as floors,
           array_agg(f.pool) as floor_pools
    from fairlead.claim_floors f where f.pool > ''
) f cross join (
    select array_agg(q.job_id) as job_ids, array_agg(q.queue) as queues,
           array_agg(q.tenant) as tenants, array_agg(q.vtag) as vtags,
           array_agg(q.estimate_us) as estimates_us,
           array_agg(fairlead._epoch_us(q.claimed_at)) as claimed_us,
           array_agg(q.worker) as workers, array_agg(q.band) as bands,
           array_agg(q.pool) as pools
    from (
        select * from fairlead.work_queue w
        where w.job_id > 0 order by w.job_id) q
) q
