-- evict: ask attempts to stop so that waiting tenants can run, and notify their workers; returns the jobs of
--        those that hold their tokens still. Does nothing under another leader's epoch. The ids come sorted.
--        Requests are forgotten after an hour.
-- locks: the leader's row (for key share), evictions rows by requested_at, then by job id.
-- index: leaders_pkey, work_queue_pkey, evictions_pkey, evictions_requested
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
), forgotten as (
    delete from fairlead.evictions e
    where e.job_id = any (array(
        select o.job_id from fairlead.evictions o
        where o.requested_at < now() - interval '1 hour' and o.job_id <> all (%(ids)s::bigint[])
          and exists (select from lead)
        order by o.requested_at limit 100 for update skip locked))
), asked as (
    insert into fairlead.evictions as e (job_id, token, for_queue, for_tenant)
    select a.job_id, a.token, a.queue, a.tenant
    from unnest(%(ids)s::bigint[], %(tokens)s::bigint[], %(queues)s::text[], %(tenants)s::text[])
        as a (job_id, token, queue, tenant)
    cross join lateral (
        select from fairlead.work_queue q
        where q.job_id = a.job_id and q.token = a.token offset 0) q
    where exists (select from lead)
    on conflict (job_id) do update
    set token = excluded.token, requested_at = excluded.requested_at, for_queue = excluded.for_queue,
        for_tenant = excluded.for_tenant
    returning e.job_id
)
select a.job_id, fairlead._notify('fairlead_cancel', a.job_id::text) from asked a
