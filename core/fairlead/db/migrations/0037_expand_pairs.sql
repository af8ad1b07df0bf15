-- Attempts are compared as pairs of job and token. An id of one and the token of another, which two arrays that
-- are compared each by itself let through, is nobody's attempt.
--
-- "(id, token) in (…) is true" keeps the pairs a hashed filter of one scan of the index by id, which goes
-- through the ids in their order, and so locks in it. Without "is true" the planner joins the pairs, looks up
-- each id by itself, and locks in the order of the arrays.
--
-- From here on a function may be there already: a database of version 35 has a former one.

-- The tokens of those attempts that hold their jobs for workers for which this session may act, each in its
-- place; null in the place of another. Whose a token is never changes, so the answer stays true: a token that
-- is not held any more changes nothing anyway.
create or replace function fairlead._own(ids bigint[], tokens bigint[]) returns bigint[]
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
begin
    return array(
        select (
            select q.token from fairlead.work_queue q
            where q.job_id = a.job_id and q.token = a.token
              and fairlead._acts_for((
                  select w.login from fairlead.worker_leases w where w.id = q.worker)))
        from unnest(ids, tokens) as a (job_id, token));
end $$;

-- --- running attempts --------------------------------------------------------------------------------

-- Moves deadlines of attempts to at least so many seconds from now. Answers each token with why its attempt
-- is to stop: lost, it no longer holds its job; cancelled, on request; expired, if it has not begun; null, it
-- goes on. A row that its handler's own transaction has locked keeps its deadline: that handler is about to
-- end.
create or replace function fairlead.extend_deadlines(ids bigint[], tokens bigint[], seconds double precision[])
returns table (token bigint, stop text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    with asked as materialized (
        select a.job_id, a.token, a.held, a.seconds
        from unnest(ids, tokens, own, extend_deadlines.seconds) as a (job_id, token, held, seconds)
    ), extended as (
        update fairlead.work_queue q
        set deadline = greatest(q.deadline, now() + make_interval(secs => (
            select max(a.seconds) from asked a where a.job_id = q.job_id and a.held = q.token)))
        where q.ctid = any (array(
            select w.ctid from fairlead.work_queue w
            where w.job_id = any (ids)
              and ((w.job_id, w.token) in (
                  select a.job_id, a.held from unnest(ids, own) as a (job_id, held))) is true
            order by w.job_id for update skip locked))
    )
    select a.token, case when h.holds is null then 'lost' else c.stop end
    from asked a
    left join lateral (
        select true as holds from fairlead.work_queue q
        where q.job_id = a.job_id and q.token = a.held offset 0) h on true
    left join lateral (
        select case when j.cancel_requested_at is not null then 'cancelled'
                    when j.expires_at <= now() then 'expired' end as stop
        from fairlead.jobs j where j.id = a.job_id offset 0) c on true;
end $$;

-- Moves the deadlines of suspect attempts that wait for a quarantine process to their whole time from now,
-- and to a lease at least: their worker lives and has no process for them yet. Until they begin there they do
-- not count as alone, or losing the worker would count as a death in quarantine for all that wait.
create or replace function fairlead._keep_deadlines(ids bigint[], tokens bigint[], lease_seconds double precision)
returns setof bigint language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    update fairlead.work_queue q
    set alone = false, deadline = greatest(
        q.deadline, fairlead._deadline(greatest(q.timeout, interval '1 second' * least(lease_seconds, 3600))))
    where q.ctid = any (array(
        select w.ctid from fairlead.work_queue w
        where w.job_id = any (ids)
          and ((w.job_id, w.token) in (
              select a.job_id, a.held from unnest(ids, own) as a (job_id, held))) is true
        order by w.job_id for update skip locked))
    returning q.token;
end $$;

-- Stores the latest progress of running attempts; a stale token changes nothing.
create or replace function fairlead.store_progress(
    ids bigint[], tokens bigint[], fractions real[], notes text[]
) returns void language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    insert into fairlead.job_progress (job_id, token, fraction, note, at)
    select a.job_id, a.held, a.fraction, a.note, now()
    from unnest(ids, own, fractions, notes) as a (job_id, held, fraction, note)
    where a.held is not null
    on conflict (job_id) do update
    set token = excluded.token, fraction = excluded.fraction, note = excluded.note, at = excluded.at;
end $$;

-- Deletes the progress of attempts that have ended: it is nobody's then. That of another worker's running
-- attempt stays.
create or replace function fairlead._forget_progress(ids bigint[], tokens bigint[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    delete from fairlead.job_progress p
    where p.job_id = any (ids)
      and ((p.job_id, p.token) in (
          select a.job_id, a.token from unnest(ids, tokens, own) as a (job_id, token, held)
          where a.held is not null or not exists (
              select from fairlead.work_queue q
              where q.job_id = a.job_id and q.token = a.token offset 0))) is true;
end $$;

-- When the jobs of attempts were inserted, and which attempt of each was the last to end without finishing
-- it: from these their traces get ids. Tokens grow from claim to claim, so the largest is the last; ordering
-- by time would let the planner read all attempts there are, from the latest on.
create or replace function fairlead._origins(ids bigint[], tokens bigint[])
returns table (id bigint, created_us bigint, token bigint, attempt integer, ended_as text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    select a.id, fairlead._epoch_us(j.created_at), e.last[1], e.last[2]::integer,
           (array['failed', 'crashed', 'lost', 'released'])[e.last[3]]
    from unnest(ids, own) as a (id, held)
    cross join lateral (select j.created_at from fairlead.jobs j where j.id = a.id offset 0) j
    cross join lateral (
        select max(array[e.token, e.attempt,
                         case e.ended_as when 'failed' then 1 when 'crashed' then 2 when 'lost' then 3
                                         else 4 end]) as last
        from fairlead.attempt_errors e where e.job_id = a.id and e.token is not null) e
    where a.held is not null;
end $$;

-- The kind, the tenant and the crashes of the unfinished jobs of attempts. Asked of what ran in a process
-- that died, to find the suspects among them.
create or replace function fairlead._sources(ids bigint[], tokens bigint[])
returns table (id bigint, kind text, tenant text, crashes integer)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    select j.id, j.kind, j.tenant, j.crashes
    from unnest(ids, own) as a (id, held)
    cross join lateral (
        select j.id, j.kind, j.tenant, j.crashes from fairlead.jobs j where j.id = a.id offset 0) j
    where a.held is not null;
end $$;

-- --- endings -----------------------------------------------------------------------------------------

-- Finishes the jobs of a batch of attempts: out of work_queue and jobs, into the history. Answers the tokens
-- that held; one that is missing was stale, or its ending was stored before a lost connection. Fails (55P03)
-- when another transaction has one of the rows locked for 200 ms, or for the session's own lock_timeout if it
-- has one.
-- Locks work_queue rows, then jobs rows, by job id. Finishing is the only operation that takes work_queue
-- first. Nearly always the batch is of one worker, so one look at that worker's row serves all.
create or replace function fairlead.finish(
    ids bigint[], tokens bigint[], outcomes text[] default null, results text[] default null,
    errors text[] default null, run_us bigint[] default null
) returns setof bigint language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
begin
    return query
    with lock_wait as materialized (
        select set_config('lock_timeout', coalesce(nullif(current_setting('lock_timeout'), '0'), '200ms'),
                          true)
    ), me as materialized (
        select w.id from fairlead.worker_leases w
        where w.id = (select q.worker from fairlead.work_queue q
                      where q.job_id = any (ids) and q.worker is not null limit 1)
          and (w.login = session_user or fairlead._acts_for(w.login))
    ), ended as materialized (
        select e.job_id, e.token, e.outcome, e.result, e.error, e.run_us
        from unnest(ids, tokens, outcomes, results, errors, finish.run_us)
            as e (job_id, token, outcome, result, error, run_us)
    ), released as (
        delete from fairlead.work_queue q
        where q.job_id = any (ids)
          and ((q.job_id, q.token) in (
              select a.job_id, a.token from unnest(ids, tokens) as a (job_id, token))) is true
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
        from removed j join released r on r.job_id = j.id
        join ended e on e.job_id = r.job_id and e.token = r.token
    ), receipt as (
        insert into fairlead.receipts (ended, run_us)
        select array_agg(r.job_id), array_agg(fairlead._charged_us(e.run_us, r.claimed_at))
        from released r join ended e on e.job_id = r.job_id and e.token = r.token having count(*) > 0
    )
    select r.token from released r;
end $$;

-- Of a batch that another transaction has locked in part, locks the rest for finish in the same transaction.
-- Answers each token that holds, and whether its job is locked for us; the others are to be tried again.
create or replace function fairlead._lock_free(ids bigint[], tokens bigint[])
returns table (token bigint, free boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    with held as materialized (
        select q.job_id from fairlead.work_queue q
        where q.job_id = any (ids)
          and ((q.job_id, q.token) in (
              select a.job_id, a.held from unnest(ids, own) as a (job_id, held))) is true
        for update skip locked
    ), mine as materialized (
        select j.id from fairlead.jobs j
        where j.id = any (array(select h.job_id from held h))
        for update skip locked
    )
    select q.token, q.job_id = any (array(
        select h.job_id from held h
        where h.job_id = any (array(select m.id from mine m))
           or not exists (select from fairlead.jobs j where j.id = h.job_id offset 0)))
    from fairlead.work_queue q
    where q.job_id = any (ids)
      and ((q.job_id, q.token) in (
          select a.job_id, a.held from unnest(ids, own) as a (job_id, held))) is true;
end $$;

-- Which of these attempts have an ending on record? Asked when finish or hand_back answers a token as stale:
-- the ending may be our own, stored before a lost connection or in the handler's transaction. Lost attempts
-- are on record too, but were ended by the leader or another worker. Whose they were is not asked: it says
-- nothing of a job but that a token has ended.
create or replace function fairlead._ended(ids bigint[], tokens bigint[]) returns setof bigint
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
begin
    return query
    select h.token from fairlead.job_history h
    where h.id = any (ids) and h.finished_at > now() - interval '1 day'
      and ((h.id, h.token) in (
          select a.job_id, a.token from unnest(ids, tokens) as a (job_id, token))) is true
    union all
    select e.token from fairlead.attempt_errors e
    where e.job_id = any (ids) and e.ended_as <> 'lost'
      and ((e.job_id, e.token) in (
          select a.job_id, a.token from unnest(ids, tokens) as a (job_id, token))) is true;
end $$;

-- Counts the death of a process against jobs that ran in it and are not suspected of it. The next statement
-- hands them back. Jobs whose tokens no longer hold are left alone.
create or replace function fairlead._count_crashes(ids bigint[], tokens bigint[])
returns setof bigint language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    update fairlead.jobs j
    set crashes = fairlead._one_more(j.crashes)
    where j.id = any (array(
        select l.id from fairlead.jobs l
        where l.id = any (ids)
          and ((l.id, (select q.token from fairlead.work_queue q where q.job_id = l.id)) in (
              select a.job_id, a.held from unnest(ids, own) as a (job_id, held))) is true
        order by l.id for update skip locked))
    returning j.id;
end $$;
