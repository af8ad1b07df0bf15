-- Ends jobs with one lookup of their work_queue rows instead of two: before version 17, PostgreSQL looks up
-- each id of an array by itself.

-- Ends jobs whose rows the caller holds: they leave jobs and enter the history; they leave work_queue as
-- well, unless a handler that has completed its job has the slot still. Rows that were found are deleted by
-- their places, which cannot change meanwhile: the caller holds them.
create or replace function fairlead._end_jobs(
    ids bigint[], outcomes text[], errors text[] default null, results jsonb[] default null
) returns void language sql
begin atomic
    with asked as materialized (
        select a.id, a.outcome, a.error, a.result
        from unnest(ids, outcomes, errors, results) as a (id, outcome, error, result)
    ), held as materialized (
        select q.ctid as place, q.job_id, q.token, q.worker, q.runnable_at, q.claimed_at, q.completed
        from fairlead.work_queue q where q.job_id = any (ids)
    ), released as (
        delete from fairlead.work_queue q
        where q.ctid = any (array(select h.place from held h where not h.completed))
        returning q.job_id, q.claimed_at
    ), gone as (
        delete from fairlead.jobs j where j.id = any (ids) returning j.*
    ), kept as (
        insert into fairlead.job_history (
            id, token, worker, created_at, due_at, runnable_at, claimed_at, finished_at, retry_of,
            attempt, max_attempts, crashes, losses, priority, outcome, queue, tenant, kind, payload,
            timeout, cost_hint, dedup_key, headers, result, error)
        select g.id, h.token, h.worker, g.created_at, g.due_at, h.runnable_at, h.claimed_at,
               clock_timestamp(), g.retry_of,
               g.attempts + (h.claimed_at is not null)::integer, g.max_attempts, g.crashes, g.losses,
               g.priority, a.outcome, g.queue, g.tenant, g.kind, g.payload, g.timeout, g.cost_hint,
               g.dedup_key, g.headers, a.result,
               case when a.outcome = 'succeeded' then a.error else coalesce(a.error, g.last_error) end
        from gone g join asked a on a.id = g.id left join held h on h.job_id = g.id
    )
    insert into fairlead.receipts (ended, run_us)
    select array_agg(r.job_id),
           array_agg(coalesce(extract(epoch from clock_timestamp() - r.claimed_at) * 1e6, 0)::bigint)
    from released r having count(*) > 0;
end;
