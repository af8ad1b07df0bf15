-- claim: lease up to %(limit)s queued jobs of the pool to one worker, in claim order. Jobs of %(full_kinds)s
--        are passed over, for which the worker has no room (null, as nearly always: of none).
-- locks: the worker's live row (for share, so that a death or draining cannot be missed), then work_queue
--        rows in claim order (skip locked).
-- index: work_queue_claim_order, from the floor on, which asks for its condition on band; jobs_pkey for
--        what is returned.
with me as materialized (
    select w.id from fairlead.worker_leases w
    where w.id = %(worker)s and w.dead_at is null and not w.draining for share
), picked as materialized (
    select q.place
    from fairlead.claim_floors f cross join lateral (
        select w.ctid as place from fairlead.work_queue w
        where w.pool = %(pool)s and w.band = f.band and w.band >= 0 and w.worker is null
          and w.vtag >= case when %(below_floor)s then -1 else f.vtag end
          and (%(full_kinds)s::text[] is null
               or coalesce((select j.kind from fairlead.jobs j where j.id = w.job_id), '')
                  <> all (%(full_kinds)s::text[]))
        order by w.vtag, w.job_id limit %(limit)s
        for update skip locked) q
    where f.pool = %(pool)s and exists (select from me)
    order by f.band limit %(limit)s
), leased as (
    update fairlead.work_queue q
    set worker = %(worker)s, token = nextval('fairlead.tokens'), claimed_at = now(),
        deadline = fairlead._deadline(q.timeout)
    where q.ctid = any (array(select p.place from picked p))
    returning q.job_id, q.token, q.queue, q.tenant, q.runnable_at, q.timeout, q.timeout_max, q.alone
), receipt as (
    insert into fairlead.receipts (worker, claimed)
    select %(worker)s, array_agg(l.job_id) from leased l having count(*) > 0
)
select l.job_id, l.token, l.queue, l.tenant, j.kind, j.payload, j.headers, fairlead._one_more(j.attempts) as attempt,
       j.max_attempts, extract(epoch from l.timeout)::float8 as timeout_seconds,
       extract(epoch from l.timeout_max)::float8 as timeout_max_seconds, l.alone,
       (fairlead._epoch_us(now()) - fairlead._epoch_us(l.runnable_at)) / 1e6::float8 as waited_seconds,
       case when j.id is null then 'gone'
            when j.cancel_requested_at is not null then 'cancelled'
            when j.expires_at <= now() then 'expired' end as doomed, j.checkpoint
from leased l
left join lateral (
    select j.id, j.kind, j.payload::text as payload, j.headers::text as headers, j.attempts,
           j.max_attempts, j.cancel_requested_at, j.expires_at, j.checkpoint
    from fairlead.jobs j where j.id = l.job_id offset 0) j on true
