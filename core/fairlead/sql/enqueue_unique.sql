-- enqueue_unique: insert jobs from one JSON array, in the caller's transaction, of which some replace the job that has
--                 their dedup key, or are the only ones of a period. What comes back are the ids of those that were
--                 inserted or took another's place. They go by their keys, so that two such statements never wait
--                 for each other.
-- locks: the jobs rows that have their keys, then their work_queue rows (skip locked), until the transaction ends; it
--        waits up to 10 s for another open transaction with the same key, or as long as lock_timeout says.
-- index: jobs_dedup, work_queue_pkey, unique_periods_pkey, inside the function.
select e.id
from (
    select j.* from rows from (json_to_recordset(%s::json) as (
        queue text, tenant text, kind text, payload jsonb, priority integer, run_at timestamptz,
        expires_at timestamptz, dedup_key text, max_attempts integer, timeout interval, cost_hint interval,
        headers jsonb, batch bigint, replace boolean, debounce interval, debounce_max interval, unique_for interval))
        with ordinality as j
    order by j.queue, j.tenant, j.dedup_key, j.ordinality) j
cross join lateral fairlead.enqueue(
    j.kind, j.payload, j.queue, j.tenant, j.priority, j.run_at, j.expires_at, j.dedup_key, j.max_attempts, j.timeout,
    j.cost_hint, j.headers, j.batch, j.replace, j.debounce, j.debounce_max, j.unique_for) e
where e.id is not null
