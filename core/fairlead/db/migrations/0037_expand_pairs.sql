-- Attempts are compared as pairs of job and token. An id of one and the token of another, which two arrays that
-- are compared each by itself let through, is nobody's attempt.
--
-- "(id, token) in (…) is true" keeps the pairs a hashed filter of one scan of the index by id, which goes
-- through the ids in their order, and so locks in it. Without "is true" the planner joins the pairs, looks up
-- each id by itself, and locks in the order of the arrays.

-- --- running attempts --------------------------------------------------------------------------------

-- Moves deadlines of attempts to at least so many seconds from now, and no later than programs can read. Answers each
-- token with why its attempt is to stop: lost, it no longer holds its job; cancelled, on request; expired, if it has
-- not begun; null, it goes on. A row that its handler's own transaction has locked keeps its deadline: that handler
-- is about to end.
create function fairlead.extend_deadlines(ids bigint[], tokens bigint[], seconds double precision[])
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
        set deadline = greatest(q.deadline, least(timestamptz '9999-01-01 00:00+00', now() + make_interval(secs => (
            select max(a.seconds) from asked a where a.job_id = q.job_id and a.held = q.token))))
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
create function fairlead._keep_deadlines(ids bigint[], tokens bigint[], lease_seconds double precision)
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

-- Deletes the progress of attempts that have ended: it is nobody's then. That of another worker's running
-- attempt stays.
create function fairlead._forget_progress(ids bigint[], tokens bigint[]) returns void
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

-- When the jobs of attempts were inserted, and which attempt of each was the last to end without finishing it: from
-- these their traces get ids. Tokens grow from claim to claim, so the largest is the last, of the newest hundred
-- errors: a login may store as many of one job as it likes. Ordering by time would let the planner read all attempts
-- there are, from the latest on.
create function fairlead._origins(ids bigint[], tokens bigint[])
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
        from (
            select l.job_id, l.token, l.attempt, l.ended_as from fairlead.attempt_errors l
            where (l.job_id, l.at) <= (a.id, 'infinity') order by l.job_id desc, l.at desc limit 100) e
        where e.job_id = a.id and e.token is not null) e
    where a.held is not null;
end $$;

-- The kind, the tenant and the crashes of the unfinished jobs of attempts. Asked of what ran in a process
-- that died, to find the suspects among them.
create function fairlead._sources(ids bigint[], tokens bigint[])
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

-- Of a batch that another transaction has locked in part, locks the rest for finish in the same transaction.
-- Answers each token that holds, and whether its job is locked for us; the others are to be tried again.
create function fairlead._lock_free(ids bigint[], tokens bigint[])
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
create function fairlead._ended(ids bigint[], tokens bigint[]) returns setof bigint
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
