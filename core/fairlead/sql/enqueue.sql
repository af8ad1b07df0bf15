-- enqueue: insert jobs from one JSON array, in the caller's transaction. A job whose dedup key is
--          live is passed over; what comes back are the ids of those that were inserted.
-- locks: none of others' rows; it waits for another open transaction with the same dedup key.
-- index: jobs_dedup
insert into fairlead.jobs (
    queue, tenant, kind, payload, priority, run_at, expires_at, dedup_key, max_attempts, timeout,
    cost_hint, headers, batch)
select j.queue, j.tenant, j.kind, coalesce(j.payload, '{}'), j.priority, j.run_at, j.expires_at,
       j.dedup_key, j.max_attempts, j.timeout, j.cost_hint, j.headers, j.batch
from json_to_recordset(%s::json) as j (
    queue text, tenant text, kind text, payload jsonb, priority smallint, run_at timestamptz,
    expires_at timestamptz, dedup_key text, max_attempts integer, timeout interval,
    cost_hint interval, headers jsonb, batch bigint)
on conflict do nothing
returning id
