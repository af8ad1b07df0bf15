-- enqueued: jobs that wait to run, those scheduled for later too, each as a JSON text, in the
--                   order they came. The parameter is an object; what it does not hold may be anything.
--                   At most 10,000 of them.
-- locks: none.
-- index: jobs_pkey, work_queue_pkey
select json_build_object(
    'id', j.id, 'kind', j.kind, 'payload', j.payload, 'queue', j.queue, 'tenant', j.tenant,
    'priority', j.priority, 'run_at', j.run_at, 'expires_at', j.expires_at,
    'dedup_key', j.dedup_key, 'max_attempts', j.max_attempts, 'headers', j.headers)::text as job
from json_to_record(%s::json) as w (kind text, queue text, tenant text, payload jsonb)
cross join lateral (
    select j.* from fairlead.jobs j
    where j.id > 0 and (w.kind is null or j.kind = w.kind)
      and (w.queue is null or j.queue = w.queue) and (w.tenant is null or j.tenant = w.tenant)
      and (w.payload is null or j.payload @> w.payload)
      and not exists (
          select from fairlead.work_queue q
          where q.job_id = j.id and q.worker is not null offset 0)
    order by j.id limit 10000) j
