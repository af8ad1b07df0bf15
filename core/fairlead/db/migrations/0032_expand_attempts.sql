-- What a worker does with queued and running jobs, as functions that serve a login only its own attempts.

-- --- claims ------------------------------------------------------------------------------------------

-- Leases up to jobs_max queued jobs of the worker's pool to it, in claim order. Jobs of full_kinds are passed
-- over, for which the worker has no room (null, as nearly always: of none).
-- Locks the worker's live row (for share, so that a death or draining cannot be missed), then work_queue
-- rows in claim order (skip locked).
create function fairlead.claim(
    worker bigint, jobs_max integer, below_floor boolean default false, full_kinds text[] default null
) returns table (
    job_id bigint, token bigint, queue text, tenant text, kind text, payload text, headers text,
    attempt integer, max_attempts integer, timeout_seconds double precision,
    timeout_max_seconds double precision, alone boolean, waited_seconds double precision, doomed text,
    checkpoint text
) language plpgsql security definer as $$
#variable_conflict use_column
begin
    return query
    with me as materialized (
        select w.id, w.pool from fairlead.worker_leases w
        where w.id = claim.worker and w.dead_at is null and not w.draining
          and (w.login = session_user or fairlead._acts_for(w.login))
          and (not exists (select from fairlead.pool_logins) or fairlead._may_serve(w.pool))
        for share
    ), picked as materialized (
        select q.place
        from fairlead.claim_floors f cross join lateral (
            select w.ctid as place from fairlead.work_queue w
            where w.pool = (select m.pool from me m) and w.band = f.band and w.band >= 0
              and w.worker is null and w.vtag >= case when claim.below_floor then -1 else f.vtag end
              and (claim.full_kinds is null
                   or coalesce((select j.kind from fairlead.jobs j where j.id = w.job_id), '')
                      <> all (claim.full_kinds))
            order by w.vtag, w.job_id limit claim.jobs_max
            for update skip locked) q
        where f.pool = (select m.pool from me m)
        order by f.band limit claim.jobs_max
    ), leased as (
        update fairlead.work_queue q
        set worker = claim.worker, token = nextval('fairlead.tokens'), claimed_at = now(),
            deadline = fairlead._deadline(q.timeout)
        where q.ctid = any (array(select p.place from picked p))
        returning q.job_id, q.token, q.queue, q.tenant, q.runnable_at, q.timeout, q.timeout_max, q.alone
    ), receipt as (
        insert into fairlead.receipts (worker, claimed)
        select claim.worker, array_agg(l.job_id) from leased l having count(*) > 0
    )
    select l.job_id, l.token, l.queue, l.tenant, j.kind, j.payload, j.headers, fairlead._one_more(j.attempts),
           j.max_attempts, extract(epoch from l.timeout)::float8,
           extract(epoch from l.timeout_max)::float8, l.alone,
           (fairlead._epoch_us(now()) - fairlead._epoch_us(l.runnable_at)) / 1e6::float8,
           case when j.id is null then 'gone'
                when j.cancel_requested_at is not null then 'cancelled'
                when j.expires_at <= now() then 'expired' end, j.checkpoint
    from leased l
    left join lateral (
        select j.id, j.kind, j.payload::text as payload, j.headers::text as headers, j.attempts,
               j.max_attempts, j.cancel_requested_at, j.expires_at, j.checkpoint
        from fairlead.jobs j where j.id = l.job_id offset 0) j on true;
end $$;

-- Whether there is a row that a claim would take, from the floor on or also below it, and whether it is time
-- for any worker to claim below it. A claim locks the worker's row and so writes to the log, even when it
-- finds nothing; this only reads.
create function fairlead._claimable(pool text, below_floor boolean)
returns table (claimable boolean, turn_due boolean) language plpgsql stable security definer as $$
begin
    return query
    select coalesce(bool_or(exists (
               select from fairlead.work_queue w
               where w.pool = _claimable.pool and w.band = f.band and w.band >= 0 and w.worker is null
                 and w.vtag >= case when below_floor then -1 else f.vtag end
               order by w.vtag, w.job_id limit 1)), false),
           coalesce(bool_or(f.full_claim_at < now() - interval '1 second'), false)
    from fairlead.claim_floors f
    where f.pool = _claimable.pool;
end $$;

-- May a worker of this pool claim below the floor now? One worker per pool may once a second, so that a row
-- that came back below the floor is claimed and cannot freeze virtual time. It does not wait for the disk: a
-- turn that a server crash forgets is taken again.
create function fairlead.take_floor_scan_turn(pool text) returns boolean
language plpgsql security definer as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    update fairlead.claim_floors f set full_claim_at = now()
    where f.pool = take_floor_scan_turn.pool and f.band = any (array(
        select c.band from fairlead.claim_floors c
        where c.pool = take_floor_scan_turn.pool and c.full_claim_at < now() - interval '1 second'
          and fairlead._may_serve(c.pool)
        for update skip locked));
    return found;
end $$;

-- Tells the leader which queued rows a claim has just passed over, because the worker has no room for their
-- kinds: at most jobs_max. A repeat tells it again, which changes nothing.
create function fairlead._pass_over(worker bigint, full_kinds text[], jobs_max integer) returns void
language plpgsql security definer as $$
#variable_conflict use_column
begin
    insert into fairlead.receipts (worker, passed_over)
    select _pass_over.worker, array_agg(p.job_id)
    from (
        select q.job_id
        from fairlead.worker_leases m cross join lateral (
            select w.job_id
            from fairlead.claim_floors f cross join lateral (
                select w.job_id from fairlead.work_queue w
                where w.pool = f.pool and w.band = f.band and w.band >= 0 and w.worker is null
                  and w.vtag >= f.vtag
                  and (select j.kind from fairlead.jobs j where j.id = w.job_id)
                      = any (_pass_over.full_kinds)
                order by w.vtag, w.job_id limit _pass_over.jobs_max) w
            where f.pool = m.pool
            limit _pass_over.jobs_max) q
        where m.id = _pass_over.worker and fairlead._acts_for(m.login)) p
    having count(*) > 0;
end $$;

-- Gives an attempt that is leased already its whole time from now on, and reads it with the columns of
-- claim, to run it in a quarantine process. A repeat does the same; no row: the token holds nothing.
create function fairlead._begin_in_quarantine(of_job bigint, of_token bigint) returns table (
    job_id bigint, token bigint, queue text, tenant text, kind text, payload text, headers text,
    attempt integer, max_attempts integer, timeout_seconds double precision,
    timeout_max_seconds double precision, alone boolean, waited_seconds double precision, doomed text,
    checkpoint text, died_alone boolean
) language plpgsql security definer as $$
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
           j.max_attempts, extract(epoch from b.timeout)::float8,
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

-- --- running attempts --------------------------------------------------------------------------------

-- Moves deadlines of attempts to at least so many seconds from now. Answers each token with why its attempt
-- is to stop: lost, it no longer holds its job; cancelled, on request; expired, if it has not begun; null, it
-- goes on. A row that its handler's own transaction has locked keeps its deadline: that handler is about to
-- end.
create function fairlead.extend_deadlines(ids bigint[], tokens bigint[], seconds double precision[])
returns table (token bigint, stop text) language plpgsql security definer as $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    with asked as materialized (
        select a.job_id, a.token, a.seconds
        from unnest(ids, tokens, extend_deadlines.seconds) as a (job_id, token, seconds)
    ), extended as (
        update fairlead.work_queue q
        set deadline = greatest(q.deadline, now() + make_interval(secs => (
            select max(a.seconds) from asked a where a.token = q.token)))
        where q.ctid = any (array(
            select w.ctid from fairlead.work_queue w
            where w.job_id = any (ids) and w.token = any (own)
            order by w.job_id for update skip locked))
    )
    select a.token, case when h.held is null then 'lost' else c.stop end
    from asked a
    left join lateral (
        select true as held from fairlead.work_queue q
        where q.job_id = a.job_id and q.token = a.token and q.token = any (own) offset 0) h on true
    left join lateral (
        select case when j.cancel_requested_at is not null then 'cancelled'
                    when j.expires_at <= now() then 'expired' end as stop
        from fairlead.jobs j where j.id = a.job_id offset 0) c on true;
end $$;

-- Moves the deadlines of suspect attempts that wait for a quarantine process to their whole time from now,
-- and to a lease at least: their worker lives and has no process for them yet. Until they begin there they do
-- not count as alone, or losing the worker would count as a death in quarantine for all that wait.
create function fairlead._keep_deadlines(ids bigint[], tokens bigint[], lease_seconds double precision)
returns setof bigint language plpgsql security definer as $$
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    update fairlead.work_queue q
    set alone = false, deadline = greatest(
        q.deadline, fairlead._deadline(greatest(q.timeout, interval '1 second' * least(lease_seconds, 3600))))
    where q.ctid = any (array(
        select w.ctid from fairlead.work_queue w
        where w.job_id = any (ids) and w.token = any (own)
        order by w.job_id for update skip locked))
    returning q.token;
end $$;

-- Stores the latest progress of running attempts; a stale token changes nothing.
create function fairlead.store_progress(ids bigint[], tokens bigint[], fractions real[], notes text[])
returns void language plpgsql security definer as $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    insert into fairlead.job_progress (job_id, token, fraction, note, at)
    select a.job_id, a.token, a.fraction, a.note, now()
    from unnest(ids, tokens, fractions, notes) as a (job_id, token, fraction, note)
    where a.token = any (own)
    on conflict (job_id) do update
    set token = excluded.token, fraction = excluded.fraction, note = excluded.note, at = excluded.at;
end $$;

-- Deletes the progress of attempts that have ended: it is nobody's then. That of another worker's running
-- attempt stays.
create function fairlead._forget_progress(ids bigint[], tokens bigint[]) returns void
language plpgsql security definer as $$
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    delete from fairlead.job_progress p
    where p.job_id = any (ids) and p.token = any (tokens)
      and (p.token = any (own) or not exists (
          select from fairlead.work_queue q where q.job_id = p.job_id and q.token = p.token offset 0));
end $$;

-- When the jobs of attempts were inserted, and which attempt of each was the last to end without finishing
-- it: from these their traces get ids. Tokens grow from claim to claim, so the largest is the last; ordering
-- by time would let the planner read all attempts there are, from the latest on.
create function fairlead._origins(ids bigint[], tokens bigint[])
returns table (id bigint, created_us bigint, token bigint, attempt integer, ended_as text)
language plpgsql stable security definer as $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    select a.id, fairlead._epoch_us(j.created_at), e.last[1], e.last[2]::integer,
           (array['failed', 'crashed', 'lost', 'released'])[e.last[3]]
    from unnest(ids, tokens) as a (id, token)
    cross join lateral (select j.created_at from fairlead.jobs j where j.id = a.id offset 0) j
    cross join lateral (
        select max(array[e.token, e.attempt,
                         case e.ended_as when 'failed' then 1 when 'crashed' then 2 when 'lost' then 3
                                         else 4 end]) as last
        from fairlead.attempt_errors e where e.job_id = a.id and e.token is not null) e
    where a.token = any (own);
end $$;

-- The kind, the tenant and the crashes of the unfinished jobs of attempts. Asked of what ran in a process
-- that died, to find the suspects among them.
create function fairlead._sources(ids bigint[], tokens bigint[])
returns table (id bigint, kind text, tenant text, crashes integer)
language plpgsql stable security definer as $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    select j.id, j.kind, j.tenant, j.crashes
    from unnest(ids, tokens) as a (id, token)
    cross join lateral (
        select j.id, j.kind, j.tenant, j.crashes from fairlead.jobs j where j.id = a.id offset 0) j
    where a.token = any (own);
end $$;

-- Whether anything is pending, queued or running, or due again after an attempt. What the application scheduled
-- for later and has not fallen due yet does not count.
create function fairlead._unfinished() returns boolean language plpgsql stable security definer as $$
begin
    return exists (select from fairlead.jobs j where j.run_at is null)
        or exists (
            select from fairlead.jobs j
            where j.run_at is not null and (j.due_at is not null or j.run_at <= now())
            order by j.run_at);
end $$;

-- Which queues have something unfinished that is not scheduled for later, at most ten of them, and which of
-- those, or tenants of theirs, are paused. Asked by a worker that runs until empty, has nothing to do, and logs
-- what it waits for.
create function fairlead._awaited() returns table (queue text, paused boolean)
language plpgsql stable security definer as $$
#variable_conflict use_column
begin
    return query
    with recursive named as (
        (select j.queue from fairlead.jobs j where j.run_at is null order by j.queue limit 1)
        union all
        select n.queue from named q cross join lateral (
            select j.queue from fairlead.jobs j
            where j.run_at is null and j.queue > q.queue order by j.queue limit 1) n
    )
    select q.queue, exists (select from fairlead.paused p where p.queue = q.queue)
    from named q limit 10;
end $$;
