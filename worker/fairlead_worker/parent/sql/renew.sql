-- renew: renew a worker's lease, if its row is not dead, store how many slots it has now, how many jobs it
--        holds beside them, whose crash breakers are open and which kinds may be evicted (null: none), and
--        return which of the attempts that it runs are to be cancelled, and which are to be evicted. No row:
--        it is dead, and what it held may run elsewhere. If its pod is marked, its claims are refused from
--        now on, until undrain; marked is whether the mark is in force, drained whether it is empty under it. It does
--        not wait for the disk: forgetting it in a server crash does no harm, for no lease lapses until one
--        lease after the server's start, and drained is not stored without the rows it depends on.
-- locks: the worker's own row: waits for a claim that has locked it.
-- index: worker_leases_pkey, pod_drains_pkey, jobs_pkey, evictions_pkey
with me as (
    update fairlead.worker_leases w
    set lease_until = now() + interval '1 second' * %(lease_seconds)s, slots = %(slots)s,
        beside = %(beside)s, crash_breakers = %(crash_breakers)s::jsonb,
        evictable_kinds = %(evictable_kinds)s::text[],
        draining = w.draining or exists (
            select from fairlead.pod_drains d
            where d.pod_uid = w.pod_uid and d.drain_until > now())
    where w.id = %(worker)s and w.dead_at is null
    returning w.id, w.pod_uid, w.draining, set_config('synchronous_commit', 'off', true)
)
select array(
           select a.token
           from unnest(%(ids)s::bigint[], %(tokens)s::bigint[]) as a (job_id, token)
           cross join lateral (
               select from fairlead.jobs j
               where j.id = a.job_id and j.cancel_requested_at is not null offset 0) c) as cancelled,
       array(
           select a.token
           from unnest(%(ids)s::bigint[], %(tokens)s::bigint[]) as a (job_id, token)
           cross join lateral (
               select from fairlead.evictions e
               where %(evictable_kinds)s::text[] is not null
                 and e.job_id = a.job_id and e.token = a.token offset 0) e) as evicted,
       m.draining, coalesce(d.drain_until > now(), false) as marked, d.drained_at is not null as drained
from me m left join fairlead.pod_drains d on d.pod_uid = m.pod_uid
