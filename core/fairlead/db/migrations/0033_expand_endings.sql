-- How a worker and a handler end attempts: functions that end only those of workers for which the session may
-- act.

-- Finishes the job with its result, in the caller's transaction: the job is done when that commits. The slot is not
-- free before its worker has released it, unless the worker expects this to do so. A stale token raises FL001, so
-- that the caller's transaction cannot commit. A repeat raises too, and so does the token of a worker for which this
-- session may not act. The result has a payload's bounds, so that what reads it in Python can. Where an administrator
-- does it to another login's attempt, it is an entry of the audit log, as in the two functions below.
create function fairlead.complete(job_id bigint, token bigint, result jsonb default null)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off set enable_tidscan = on as $$
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
    holder name;
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
    where q.job_id = complete.job_id and q.token = any (own) and not q.completed
    returning (select w.login from fairlead.worker_leases w where w.id = q.worker) into holder;
    if not found then
        perform fairlead._raise_stale(complete.job_id, complete.token);
    end if;
    if holder is distinct from session_user then
        perform fairlead._record_for_another('complete', complete.job_id, holder);
    end if;
    perform fairlead._end_jobs(
        array[complete.job_id], array['succeeded'], array[null::text], array[result]);
    perform fairlead._tell_waiting(array[complete.job_id]);
end $$;

-- Fails one attempt: the job runs again after retry_in (null: back-off), or has failed for good when
-- its attempts are used up. Answers scheduled, failed or cancelled. A stale token raises FL001.
create function fairlead.fail(
    job_id bigint, token bigint, error text default '', retry_in interval default null
) returns text language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    own constant bigint[] := fairlead._own(array[fail.job_id], array[fail.token]);
    new_state text;
    holder name;
begin
    if own <> '{}' then
        select (select w.login from fairlead.worker_leases w where w.id = q.worker) into holder
        from fairlead.work_queue q where q.job_id = fail.job_id and q.token = any (own);
        if found and holder is distinct from session_user then
            perform fairlead._record_for_another('fail', fail.job_id, holder);
        end if;
        select e.became into new_state from fairlead._end_attempts(
            array[fail.job_id], own, array['failed'], array[left(error, 4096)], array[retry_in]) e;
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
create function fairlead.extend(job_id bigint, token bigint, by interval)
returns timestamptz language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    own constant bigint[] := fairlead._own(array[extend.job_id], array[extend.token]);
    until timestamptz;
    holder name;
begin
    if by is null or by <= interval '0' or by > interval '30 days' then
        raise exception 'fairlead: extend by must be over 0 and at most 30 days, not %', by
            using errcode = 'check_violation';
    end if;
    update fairlead.work_queue q
    set deadline = greatest(q.deadline, least(clock_timestamp() + by, q.claimed_at + q.timeout_max))
    where q.job_id = extend.job_id and q.token = any (own)
    returning q.deadline, (select w.login from fairlead.worker_leases w where w.id = q.worker)
    into until, holder;
    if not found then
        perform fairlead._raise_stale(extend.job_id, extend.token);
    end if;
    if holder is distinct from session_user then
        perform fairlead._record_for_another('extend', extend.job_id, holder);
    end if;
    return until;
end $$;
