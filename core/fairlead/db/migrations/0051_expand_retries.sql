-- A job has as many attempts as its row says, else 20 over two days: five were over in fifteen seconds, before a
-- mail server that restarts was back. Null says nothing: so do the rows of jobs that repeat one, and of its schedule.

-- How long a job waits after so many failures before the last: 2 s, then twice as long each time up to 8 hours, and
-- of that between half and one and a half, so that what failed together is not tried together. Nineteen take 49 h.
create function fairlead._backoff(failures integer) returns interval
language sql volatile set search_path = pg_catalog, pg_temp as $$
    select interval '1 second' * ((0.5 + random()) * least(28800, 2.0 ^ (1 + least(greatest(failures, 0), 14))))
$$;

-- Whether a row is one that nothing more has to be looked at of.
--
-- A function looks names up in the search path of its caller unless it has one of its own, and a login that
-- owns a schema could put its own operators before those of the admission. Setting a search path took the
-- admission 0.3 us for each row on PostgreSQL 18 and 1.4 on 15, of 6 and 7, so what an ordinary row meets
-- does without: the names here were resolved when it was made, and it is inlined.
create function fairlead._is_ordinary(
    queue text, tenant text, kind text, priority smallint, max_attempts integer, payload jsonb, retry_of bigint,
    run_at timestamptz, expires_at timestamptz, timeout interval, cost_hint interval, dedup_key text,
    headers jsonb
) returns boolean language sql
return num_nonnulls(run_at, expires_at, timeout, cost_hint, dedup_key, headers) = 0
       and octet_length(queue) between 1 and 128 and octet_length(tenant) <= 128
       and octet_length(kind) between 1 and 128 and priority between -100 and 100
       and coalesce(max_attempts, 1) between 1 and 1000 and octet_length(payload::text) < 1000
       and (pg_sequence_last_value('fairlead.backlog_gate') is null
            or pg_sequence_last_value('fairlead.backlog_gate')
               & (fairlead._backlog_bit(queue) | fairlead._backlog_bit(queue || '/' || tenant)) = 0
            or fairlead._has_room(queue, tenant, null, retry_of));

-- Gives an attempt that is leased already its whole time from now on, and reads it with the columns of
-- claim, to run it in a quarantine process. A repeat does the same; no row: the token holds nothing.
create function fairlead._begin_in_quarantine(of_job bigint, of_token bigint) returns table (
    job_id bigint, token bigint, queue text, tenant text, kind text, payload text, headers text,
    attempt integer, max_attempts integer, timeout_seconds double precision,
    timeout_max_seconds double precision, alone boolean, waited_seconds double precision, doomed text,
    checkpoint text, died_alone boolean
) language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(array[of_job], array[of_token]);
begin
    return query
    with begun as (
        update fairlead.work_queue q
        set alone = true, deadline = greatest(q.deadline, fairlead._deadline(q.timeout))
        where q.job_id = of_job and q.token = any (own)
        returning q.job_id, q.token, q.queue, q.tenant, q.runnable_at, q.timeout, q.timeout_max, q.alone
    )
    select b.job_id, b.token, b.queue, b.tenant, j.kind, j.payload, j.headers, fairlead._one_more(j.attempts),
           coalesce(j.max_attempts, 0), extract(epoch from b.timeout)::float8,
           extract(epoch from b.timeout_max)::float8, b.alone,
           (fairlead._epoch_us(now()) - fairlead._epoch_us(b.runnable_at)) / 1e6::float8,
           case when j.id is null then 'gone'
                when j.cancel_requested_at is not null then 'cancelled'
                when j.expires_at <= now() then 'expired' end, j.checkpoint,
           coalesce(j.lone_deaths, 0) > 0
    from begun b
    left join lateral (
        select j.id, j.kind, j.payload::text as payload, j.headers::text as headers, j.attempts,
               j.max_attempts, j.cancel_requested_at, j.expires_at, j.lone_deaths, j.checkpoint
        from fairlead.jobs j where j.id = b.job_id offset 0) j on true;
end $$;
