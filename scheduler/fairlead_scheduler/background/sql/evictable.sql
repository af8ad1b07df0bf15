-- evictable: which of these jobs run on a worker whose handlers agreed to be asked to stop, with the tokens of
--            their attempts. Left out: those of which a slot would not become free for others (the worker
--            drains, or is lost), which are to stop already, or which were asked in the last
--            %(again_seconds)s seconds.
-- locks: none.
-- index: work_queue_pkey, worker_leases_pkey, jobs_pkey, evictions_pkey
select q.job_id, q.token
from unnest(%(ids)s::bigint[]) as a (job_id)
cross join lateral (
    select w.job_id, w.token, w.worker from fairlead.work_queue w
    where w.job_id = a.job_id and w.worker is not null and not w.completed and not w.alone offset 0) q
cross join lateral (
    select l.evictable_kinds from fairlead.worker_leases l
    where l.id = q.worker and l.dead_at is null and l.lease_until > now() and not l.draining
      and l.evictable_kinds is not null offset 0) l
cross join lateral (
    select from fairlead.jobs j
    where j.id = a.job_id and j.kind = any (l.evictable_kinds) and j.cancel_requested_at is null
    offset 0) j
left join lateral (
    select e.job_id from fairlead.evictions e
    where e.job_id = a.job_id
      and e.requested_at > now() - make_interval(secs => %(again_seconds)s) offset 0) e on true
where e.job_id is null
