-- How a worker and a handler end attempts: functions that end only those of workers for which the session may
-- act.

-- Finishes the jobs of a batch of attempts: out of work_queue and jobs, into the history. Answers the tokens
-- that held; one that is missing was stale, or its ending was stored before a lost connection. Fails (55P03)
-- when another transaction has one of the rows locked for 200 ms, or for the session's own lock_timeout if it
-- has one.
-- Locks work_queue rows, then jobs rows, by job id. Finishing is the only operation that takes work_queue
-- first. Nearly always the batch is of one worker, so one look at that worker's row serves all.
create function fairlead.finish(
    ids bigint[], tokens bigint[], outcomes text[] default null, results text[] default null,
    errors text[] default null, run_us bigint[] default null
) returns setof bigint language plpgsql security definer as $$
#variable_conflict use_column
begin
    return query
    with lock_wait as materialized (
        select set_config('lock_timeout', coalesce(nullif(current_setting('lock_timeout'), '0'), '200ms'),
                          true)
    ), me as materialized (
        select w.id from fairlead.worker_leases w
        where w.id = (select q.worker from fairlead.work_queue q
                      where q.job_id = any (ids) and q.token = any (tokens) limit 1)
          and (w.login = session_user or fairlead._acts_for(w.login))
    ), ended as materialized (
        select e.token, e.outcome, e.result, e.error, e.run_us
        from unnest(tokens, outcomes, results, errors, finish.run_us)
            as e (token, outcome, result, error, run_us)
    ), released as (
        delete from fairlead.work_queue q
        where q.job_id = any (ids) and q.token = any (tokens)
          and exists (select from lock_wait)
          and (q.worker = (select m.id from me m) or fairlead._acts_for((
              select w.login from fairlead.worker_leases w where w.id = q.worker)))
        returning q.job_id, q.token, q.worker, q.runnable_at, q.claimed_at
    ), removed as (
        delete from fairlead.jobs j where j.id = any (array(select r.job_id from released r))
        returning j.*
    ), kept as (
        insert into fairlead.job_history (
            id, token, worker, created_at, due_at, runnable_at, claimed_at, finished_at, retry_of,
            attempt, max_attempts, crashes, losses, priority, outcome, queue, tenant, kind, payload,
            timeout, cost_hint, dedup_key, headers, result, error, enqueued_by)
        select j.id, r.token, r.worker, j.created_at, j.due_at, r.runnable_at, r.claimed_at, now(),
               j.retry_of, fairlead._one_more(j.attempts), j.max_attempts, j.crashes, j.losses, j.priority,
               coalesce(e.outcome, 'succeeded'), j.queue, j.tenant, j.kind, j.payload, j.timeout,
               j.cost_hint, j.dedup_key, j.headers, e.result::jsonb,
               case when coalesce(e.outcome, 'succeeded') = 'succeeded' then e.error
                    when e.outcome = 'expired' then concat_ws('; before that: ', e.error, j.last_error)
                    else coalesce(e.error, j.last_error) end, j.enqueued_by
        from removed j join released r on r.job_id = j.id join ended e on e.token = r.token
    ), receipt as (
        insert into fairlead.receipts (ended, run_us)
        select array_agg(r.job_id), array_agg(fairlead._charged_us(e.run_us, r.claimed_at))
        from released r join ended e on e.token = r.token having count(*) > 0
    )
    select r.token from released r;
end $$;

-- Of a batch that another transaction has locked in part, locks the rest for finish in the same transaction.
-- Answers each token that holds, and whether its job is locked for us; the others are to be tried again.
create or replace function fairlead._lock_free(ids bigint[], tokens bigint[])
returns table (token bigint, free boolean) language plpgsql security definer as $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    with held as materialized (
        select q.job_id, q.token from fairlead.work_queue q
        where q.job_id = any (ids) and q.token = any (own)
        for update skip locked
    ), mine as materialized (
        select j.id from fairlead.jobs j
        where j.id = any (array(select h.job_id from held h))
        for update skip locked
    )
    select q.token, q.token = any (array(
        select h.token from held h
        where h.job_id = any (array(select m.id from mine m))
           or not exists (select from fairlead.jobs j where j.id = h.job_id offset 0)))
    from fairlead.work_queue q
    where q.job_id = any (ids) and q.token = any (own);
end $$;

-- Which of these attempts have an ending on record? Asked when finish or hand_back answers a token as stale:
-- the ending may be our own, stored before a lost connection or in the handler's transaction. Lost attempts
-- are on record too, but were ended by the leader or another worker. Whose they were is not asked: it says
-- nothing of a job but that a token has ended.
create function fairlead._ended(ids bigint[], tokens bigint[]) returns setof bigint
language plpgsql stable security definer as $$
begin
    return query
    select h.token from fairlead.job_history h
    where h.id = any (ids) and h.token = any (tokens) and h.finished_at > now() - interval '1 day'
    union all
    select e.token from fairlead.attempt_errors e
    where e.job_id = any (ids) and e.token = any (tokens) and e.ended_as <> 'lost';
end $$;

-- Ends attempts without completing their jobs, as _end_attempts says, and waits for no lock. Answers what
-- became of each, and of which queue and kind its job is. A token that this session may not end is stale.
create function fairlead.hand_back(
    ids bigint[], tokens bigint[], ended_as text[], errors text[] default null,
    delays interval[] default null
) returns table (job_id bigint, token bigint, became text, queue text, kind text)
language plpgsql security definer as $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    with asked as materialized (
        select a.* from unnest(ids, tokens, hand_back.ended_as, errors, delays)
            as a (job_id, token, ended_as, error, delay)
        where a.token = any (own)
    ), given as materialized (
        select array_agg(a.job_id) as jobs, array_agg(a.token) as held, array_agg(a.ended_as) as how,
               array_agg(a.error) as why, array_agg(a.delay) as rests
        from asked a
    ), done as materialized (
        select e.token, e.became from given g cross join lateral fairlead._end_attempts(
            g.jobs, g.held, g.how, g.why, g.rests, true) e
        where g.jobs is not null
    )
    select a.job_id, a.token, coalesce((select d.became from done d where d.token = a.token), 'stale'),
           j.queue, j.kind
    from unnest(ids, tokens) as a (job_id, token)
    left join lateral (
        select j.queue, j.kind from fairlead.jobs j
        where j.id = a.job_id and a.token = any (own) offset 0) j on true;
end $$;

-- As before, and charged within the time since the claim.
create or replace function fairlead._release(ids bigint[], tokens bigint[], run_us bigint[] default null)
returns setof bigint language sql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
begin atomic
    with released as (
        delete from fairlead.work_queue q
        where q.ctid = any (array(
            select w.ctid from fairlead.work_queue w
            where w.job_id = any (ids) and w.token = any (tokens)
              and not exists (select from fairlead.jobs j where j.id = w.job_id offset 0)
            order by w.job_id for update skip locked))
        returning q.job_id, q.token, q.claimed_at
    ), receipt as (
        insert into fairlead.receipts (ended, run_us)
        select array_agg(r.job_id), array_agg(fairlead._charged_us(a.run_us, r.claimed_at))
        from released r join unnest(tokens, _release.run_us) as a (token, run_us) on a.token = r.token
        having count(*) > 0
    )
    select r.token from released r;
end;

-- Frees the slots of attempts whose jobs are gone: completed by their handlers, or deleted. Answers the tokens
-- that it released; the others hold nothing, still have a job, or are locked. A repeat releases nothing.
create function fairlead.release(ids bigint[], tokens bigint[], run_us bigint[] default null)
returns setof bigint language plpgsql security definer as $$
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    select r.token from (
        select array_agg(a.token) as held, array_agg(a.run_us) as held_us
        from unnest(tokens, release.run_us) as a (token, run_us) where a.token = any (own)) g
    cross join lateral fairlead._release(ids, g.held, g.held_us) as r (token)
    where g.held is not null;
end $$;

-- Counts the death of a process against jobs that ran in it and are not suspected of it. The next statement
-- hands them back. Jobs whose tokens no longer hold are left alone.
create or replace function fairlead._count_crashes(ids bigint[], tokens bigint[])
returns setof bigint language plpgsql security definer as $$
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    update fairlead.jobs j
    set crashes = fairlead._one_more(j.crashes)
    where j.id = any (array(
        select l.id from fairlead.jobs l
        where l.id = any (ids)
          and (select q.token from fairlead.work_queue q where q.job_id = l.id) = any (own)
        order by l.id for update skip locked))
    returning j.id;
end $$;

-- Finishes the job with its result, in the caller's transaction: the job is done when that commits. The
-- slot is not free before its worker has released it, unless the worker expects this to do so.
-- A stale token raises FL001, so that the caller's transaction cannot commit. A repeat raises too, and so
-- does the token of a worker for which this session may not act. The result has a payload's bounds, so that
-- what reads it in Python can.
create or replace function fairlead.complete(job_id bigint, token bigint, result jsonb default null)
returns void language plpgsql security definer as $$
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
) returns text language plpgsql security definer as $$
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
returns timestamptz language plpgsql security definer as $$
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

-- --- how the functions are planned -------------------------------------------------------------------

-- As a service's sessions are, see fairlead.db.connect: a plan that was made while a table was empty must not
-- be a scan when it holds a million rows, and behind PgBouncer nothing else says so.
do $plans$
declare
    called regprocedure;
begin
    for called in
        select p.oid::regprocedure from pg_proc p
        where p.pronamespace = 'fairlead'::regnamespace and p.proname = any (array[
            'register_worker', 'renew_worker', 'undrain_worker', 'say_drained', 'deregister_workers',
            '_predecessors', '_leased', '_own', 'claim', '_claimable', 'take_floor_scan_turn', '_pass_over',
            '_begin_in_quarantine', 'extend_deadlines', '_keep_deadlines', 'store_progress',
            '_forget_progress', '_origins', '_sources', 'finish', '_lock_free', '_ended', 'hand_back', 'release',
            '_count_crashes', 'complete', 'fail', 'extend', '_unfinished', '_awaited'])
    loop
        execute format(
            'alter function %s set search_path = pg_catalog, pg_temp set enable_seqscan = off '
            'set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off '
            'set plan_cache_mode = force_generic_plan set jit = off', called);
    end loop;
end $plans$;
