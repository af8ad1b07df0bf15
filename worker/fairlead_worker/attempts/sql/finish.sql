-- finish: finish the jobs of a batch of attempts: out of work_queue and jobs, into the history. Returns the
--         tokens that held; one that is missing was stale (or its ending was stored before a lost
--         connection: finished.sql reads it). Fails (55P03) when another transaction has one of the rows
--         locked for 200 ms, or for the session's own lock_timeout if it has one: then use finish_free.sql.
-- locks: work_queue rows, then jobs rows, by job id where the session keeps to index scans. Finishing is
--        the only operation that takes work_queue first.
-- index: work_queue_pkey, jobs_pkey
with lock_wait as materialized (
    select set_config('lock_timeout', coalesce(nullif(current_setting('lock_timeout'), '0'), '200ms'),
                      true)
), ended as materialized (
    select e.token, e.outcome, e.result, e.error, e.run_us
    from unnest(%(tokens)s::bigint[], %(outcomes)s::text[], %(results)s::text[], %(errors)s::text[],
                %(run_us)s::bigint[]) as e (token, outcome, result, error, run_us)
), released as (
    delete from fairlead.work_queue q
    where q.job_id = any (%(ids)s::bigint[]) and q.token = any (%(tokens)s::bigint[])
      and exists (select from lock_wait)
    returning q.job_id, q.token, q.worker, q.runnable_at, q.claimed_at
), removed as (
    delete from fairlead.jobs j where j.id = any (array(select r.job_id from released r))
    returning j.*
), kept as (
    insert into fairlead.job_history (
        id, token, worker, created_at, due_at, runnable_at, claimed_at, finished_at, retry_of,
        attempt, max_attempts, crashes, losses, priority, outcome, queue, tenant, kind, payload,
        timeout, cost_hint, dedup_key, headers, result, error)
    select j.id, r.token, r.worker, j.created_at, j.due_at, r.runnable_at, r.claimed_at, now(),
           j.retry_of, fairlead._one_more(j.attempts), j.max_attempts, j.crashes, j.losses, j.priority,
           coalesce(e.outcome, 'succeeded'), j.queue, j.tenant, j.kind, j.payload, j.timeout,
           j.cost_hint, j.dedup_key, j.headers, e.result::jsonb,
           case when coalesce(e.outcome, 'succeeded') = 'succeeded' then e.error
                when e.outcome = 'expired' then concat_ws('; before that: ', e.error, j.last_error)
                else coalesce(e.error, j.last_error) end
    from removed j join released r on r.job_id = j.id join ended e on e.token = r.token
), receipt as (
    insert into fairlead.receipts (ended, run_us)
    select array_agg(r.job_id), array_agg(e.run_us)
    from released r join ended e on e.token = r.token having count(*) > 0
)
select r.token from released r
