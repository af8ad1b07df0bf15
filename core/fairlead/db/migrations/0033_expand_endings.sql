-- How a worker and a handler end attempts: functions that end only those of workers for which the session may
-- act.

-- Finishes the job with its result, in the caller's transaction: the job is done when that commits. The
-- slot is not free before its worker has released it, unless the worker expects this to do so.
-- A stale token raises FL001, so that the caller's transaction cannot commit. A repeat raises too, and so
-- does the token of a worker for which this session may not act. The result has a payload's bounds, so that
-- what reads it in Python can.
create or replace function fairlead.complete(job_id bigint, token bigint, result jsonb default null)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    bytes constant integer := octet_length(result::text);
    fault constant text := case
        when bytes > 1048576
        then format('is %s bytes of JSON, more than 1,048,576', to_char(bytes, 'FM999,999,999,999'))
        when bytes > 1000 and jsonb_path_exists(result, '$.**{500}')
        then 'is nested more than 500 deep'
        when bytes > 4000 and jsonb_path_exists(
            result, 'strict $.** ? (@.type() == "number" && (@ >= 1e4000 || @ <= -1e4000))')
        then 'holds a number of 1e4000 or more'
    end;
    own constant bigint[] := fairlead._own(array[complete.job_id], array[complete.token]);
begin
    if fault is not null then
        raise exception 'fairlead: result %', fault
            using errcode = 'check_violation',
                  hint = 'Keep it somewhere else, and say in the result where.';
    end if;
    -- Completion takes work_queue first: its token is the proof of ownership.
    update fairlead.work_queue q
    set completed = coalesce((
        select w.releases_slots from fairlead.worker_leases w where w.id = q.worker), false)
    where q.job_id = complete.job_id and q.token = any (own) and not q.completed;
    if not found then
        perform fairlead._raise_stale(complete.job_id, complete.token);
    end if;
    perform fairlead._end_jobs(
        array[complete.job_id], array['succeeded'], array[null::text], array[result]);
end $$;

create or replace function fairlead.fail(
    job_id bigint, token bigint, error text default '', retry_in interval default null
) returns text language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    own constant bigint[] := fairlead._own(array[fail.job_id], array[fail.token]);
    new_state text;
begin
    if own <> '{}' then
        select e.became into new_state from fairlead._end_attempts(
            array[fail.job_id], own, array['failed'], array[error], array[retry_in]) e;
    end if;
    if coalesce(new_state, 'stale') = 'stale' then
        perform fairlead._raise_stale(fail.job_id, fail.token);
    elsif new_state = 'locked' then
        raise exception 'fairlead: another open transaction holds the attempt of job %', fail.job_id
            using errcode = 'lock_not_available', hint = 'Call it again when that has ended.';
    end if;
    return new_state;
end $$;

-- Moves the attempt's deadline to at least by from now, no further than the pool's longest timeout after
-- the claim, and never back; answers it. A stale token raises FL001.
create or replace function fairlead.extend(job_id bigint, token bigint, by interval)
returns timestamptz language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    own constant bigint[] := fairlead._own(array[extend.job_id], array[extend.token]);
    until timestamptz;
begin
    if by is null or by <= interval '0' or by > interval '30 days' then
        raise exception 'fairlead: extend by must be over 0 and at most 30 days, not %', by
            using errcode = 'check_violation';
    end if;
    update fairlead.work_queue q
    set deadline = greatest(q.deadline, least(clock_timestamp() + by, q.claimed_at + q.timeout_max))
    where q.job_id = extend.job_id and q.token = any (own)
    returning q.deadline into until;
    if not found then
        perform fairlead._raise_stale(extend.job_id, extend.token);
    end if;
    return until;
end $$;
