-- What jobs carried is found wherever it is, and taken out.

-- Errors of attempts outlive the history of jobs that succeeded. Those stored before have no tenant: an erasure
-- finds them for as long as their jobs are in the history.
alter table fairlead.attempt_errors add column tenant text collate "C";

-- Ends attempts without completing their jobs. For each pair of id and token, ended_as says how:
--   failed    the handler failed: run again after delay (null: back-off), or failed for good when
--             the attempts are used up
--   snoozed   run again after delay, without using an attempt
--   returned  it had not started; released: it had, and was cut short; back to the queue unpunished
--   crashed   the process that ran it died; lost: its whole worker did. Back to the queue, to run
--             alone after a crash and after every third loss, until an attempt alone has ended in
--             another way; quarantined after three deaths alone
-- One that was asked to stop is pending instead of queued, with its place in its lane: in the queue its
-- tag would let it go before the tenant that it makes room for. What a run that has not failed noted as its
-- progress is the checkpoint of the next one.
-- Answers what became of each: scheduled, queued, pending, failed, cancelled (a request was waiting), stale
-- (the token holds nothing), or locked: a transaction that is still open holds the lease, such as
-- one of its handler; nothing was changed, so ask again. It waits for the session that holds the job itself;
-- with skip_locked it waits for no lock and answers locked. Where the job is gone, as after its
-- completion by a handler, the slot is free from here on, and the answer is stale.
create or replace function fairlead._end_attempts(
    ids bigint[], tokens bigint[], ended_as text[], errors text[], delays interval[],
    skip_locked boolean default false
) returns table (job_id bigint, token bigint, became text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    mine bigint[];
    decided_ids bigint[];
    decided_tokens bigint[];
    decided_became text[];
    released_ids bigint[];
    over_ids bigint[];
    over_became text[];
    over_errors text[];
begin
    perform fairlead._require_read_committed();
    if skip_locked then
        select array_agg(l.id) into mine from (
            select j.id from fairlead.jobs j where j.id = any (ids) order by j.id
            for update skip locked) l;
    else
        select array_agg(l.id) into mine from (
            select j.id from fairlead.jobs j where j.id = any (ids) order by j.id for update) l;
    end if;
    with asked as materialized (
        select a.* from unnest(ids, tokens, ended_as, errors, delays)
            as a (job_id, token, ended_as, error, delay)
    ), held as materialized (
        select q.job_id, q.token, q.pool, q.band, q.alone, q.claimed_at
        from fairlead.work_queue q
        where q.job_id = any (mine)
          and ((q.job_id, q.token) in (select a.job_id, a.token from asked a)) is true
        order by q.job_id for update skip locked
    ), decided as materialized (
        select a.job_id, a.token, a.ended_as, a.error, h.pool, h.band, h.claimed_at, j.tenant, j.attempts,
               case when a.ended_as = 'crashed' then fairlead._one_more(j.crashes) else j.crashes end as crashes,
               case when a.ended_as = 'lost' then fairlead._one_more(j.losses) else j.losses end as losses,
               case when h.alone and a.ended_as in ('crashed', 'lost') then fairlead._one_more(j.lone_deaths)
                    else j.lone_deaths end as lone_deaths,
               case when a.ended_as = 'crashed'
                         or a.ended_as = 'lost' and fairlead._one_more(j.losses) % 3 = 0 then true
                    when h.alone and a.ended_as in ('failed', 'snoozed', 'released') then false
                    else j.suspect end as suspect,
               least(greatest(coalesce(a.delay, fairlead._backoff(j.attempts)), interval '0'),
                     interval '1000 years') as delay,
               case
                   when h.job_id is null and l.job_id is not null then 'locked'
                   when h.job_id is null then 'stale'
                   when j.cancel_requested_at is not null then 'cancelled'
                   when a.ended_as = 'failed' and fairlead._one_more(j.attempts) >= least(j.max_attempts, 1000)
                       then 'failed'
                   when a.ended_as in ('crashed', 'lost') and h.alone and j.lone_deaths >= 2
                       then 'failed'
                   when a.ended_as in ('failed', 'snoozed') then 'scheduled'
                   when a.ended_as <> 'returned' and exists (
                       select from fairlead.evictions e
                       where e.job_id = a.job_id and e.token = a.token) then 'pending'
                   else 'queued'
               end as became
        from asked a
        left join held h on h.job_id = a.job_id and h.token = a.token
        left join lateral (
            select q.job_id from fairlead.work_queue q
            where q.job_id = a.job_id and q.token = a.token offset 0) l on true
        left join lateral (select * from fairlead.jobs j where j.id = a.job_id offset 0) j on true
    ), noted as (
        insert into fairlead.attempt_errors (job_id, token, attempt, ended_as, error, tenant)
        select d.job_id, d.token, fairlead._one_more(d.attempts), d.ended_as, coalesce(d.error, ''), d.tenant
        from decided d
        where d.became not in ('stale', 'locked')
          and d.ended_as in ('failed', 'crashed', 'lost', 'released')
    ), counted as (
        update fairlead.jobs j
        set attempts = case when d.ended_as = 'failed' and d.became = 'scheduled'
                            then fairlead._one_more(j.attempts) else j.attempts end,
            crashes = d.crashes, losses = d.losses, lone_deaths = d.lone_deaths, suspect = d.suspect,
            last_error = coalesce(d.error, j.last_error),
            -- The next wait of one that is pending is counted from here, and not from before it ran.
            due_at = case when d.became = 'pending' then clock_timestamp()
                          else coalesce(j.due_at, j.created_at) end,
            checkpoint = case when d.ended_as in ('released', 'lost') then coalesce((
                select nullif(p.note, '') from fairlead.job_progress p
                where p.job_id = d.job_id and p.token = d.token), j.checkpoint)
                else j.checkpoint end,
            run_at = case when d.became = 'scheduled' then clock_timestamp() + d.delay end
        from decided d
        where j.id = any (mine) and j.id = d.job_id and d.became not in ('stale', 'locked')
          and d.ended_as <> 'returned'
    ), requeued as (
        update fairlead.work_queue q
        set worker = null, token = null, claimed_at = null, deadline = null,
            alone = d.suspect,
            -- Its next wait is counted from here, and not from before it ran.
            runnable_at = case when d.ended_as = 'returned' then q.runnable_at
                               else clock_timestamp() end,
            vtag = greatest(q.vtag, (
                select f.vtag from fairlead.claim_floors f where f.pool = d.pool and f.band = d.band))
        from decided d
        where q.job_id = any (mine) and q.job_id = d.job_id and d.became = 'queued'
    ), dequeued as (
        delete from fairlead.work_queue q
        where q.job_id = any (array(
            select d.job_id from decided d where d.became in ('scheduled', 'pending')))
    ), receipted as (
        insert into fairlead.receipts (ended, run_us, returned, evicted)
        select array_agg(d.job_id) filter (where d.became in ('scheduled', 'pending')),
               array_agg(fairlead._epoch_us(clock_timestamp()) - fairlead._epoch_us(d.claimed_at))
                   filter (where d.became in ('scheduled', 'pending')),
               array_agg(d.job_id) filter (where d.became = 'queued'),
               array_agg(d.job_id) filter (where d.became = 'pending')
        from decided d having bool_or(d.became in ('scheduled', 'pending', 'queued'))
    )
    select array_agg(d.job_id), array_agg(d.token), array_agg(d.became),
           array_agg(d.job_id) filter (where d.became in ('failed', 'cancelled')),
           array_agg(d.became) filter (where d.became in ('failed', 'cancelled')),
           array_agg(case
               when d.became = 'failed' and d.ended_as in ('crashed', 'lost')
                   then 'quarantined: the process that ran it alone died '
                        || d.lone_deaths || ' times; ' || coalesce(d.error, '')
               else d.error end) filter (where d.became in ('failed', 'cancelled'))
    into decided_ids, decided_tokens, decided_became, over_ids, over_became, over_errors
    from decided d;
    -- In a statement of its own, so that the ending carries the counts from above.
    if over_ids is not null then
        perform fairlead._end_jobs(over_ids, over_became, over_errors);
    end if;
    if 'queued' = any (decided_became) then
        perform pg_notify('fairlead_work', '');
    end if;
    -- What looks locked may be a row whose job is gone.
    if 'locked' = any (decided_became) then
        select array_agg(r.job_id) into released_ids from fairlead._release(ids, tokens) r;
    end if;
    return query
    select d.job_id, d.token, case when d.job_id = any (released_ids) then 'stale' else d.became end
    from unnest(decided_ids, decided_tokens, decided_became) as d (job_id, token, became);
end $$;

-- Deletes what is stored of a tenant's finished jobs: history, errors of attempts, also of jobs that the history
-- has no more, and progress, in the order of the jobs' ids. Looks at 10,000 endings and 10,000 errors behind
-- after_id at most, and erases jobs_max jobs at most. Answers how many it erased, and the id to go on behind, null
-- at the end. A crash leaves whole batches; a repeat goes on with the rest.
create or replace function fairlead._erase_history(
    tenant text, after_id bigint, jobs_max integer, out erased integer, out reached_id bigint
) language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    looked_max constant integer := 10000;
    behind constant bigint := coalesce(_erase_history.after_id, 0);
    wanted integer := least(greatest(_erase_history.jobs_max, 0), looked_max);
    ids bigint[];
begin
    if not fairlead._sees(_erase_history.tenant) then
        raise exception 'fairlead: this login may erase its own tenant only'
            using errcode = 'insufficient_privilege';
    end if;
    perform fairlead._require_read_committed();
    with ended as materialized (
        select h.id, h.tenant from fairlead.job_history h where h.id > behind order by h.id limit looked_max
    ), failed as materialized (
        select e.job_id as id, e.tenant from fairlead.attempt_errors e
        where e.job_id > behind order by e.job_id limit looked_max
    ), looked as materialized (
        select least((select max(h.id) from ended h having count(*) = looked_max),
                     (select max(e.id) from failed e having count(*) = looked_max)) as last
    ), picked as materialized (
        select a.id from (
            select h.id from ended h where h.tenant = _erase_history.tenant
            union
            select e.id from failed e
            where e.tenant = _erase_history.tenant
              and not exists (select from fairlead.jobs j where j.id = e.id offset 0)) a
        where a.id <= coalesce((select l.last from looked l), a.id) order by a.id limit wanted
    )
    select p.ids, case when p.many >= wanted then p.last else (select l.last from looked l) end
    into ids, reached_id
    from (select coalesce(array_agg(k.id), '{}') as ids, count(*) as many, max(k.id) as last from picked k) p;
    erased := cardinality(ids);
    if erased > 0 then
        delete from fairlead.job_history h where h.id = any (ids) and h.tenant = _erase_history.tenant;
        delete from fairlead.attempt_errors e where e.job_id = any (ids);
        delete from fairlead.job_progress p where p.job_id = any (ids);
        perform fairlead._record_audit(
            'erase_tenant', queue => '', tenant => _erase_history.tenant,
            details => jsonb_build_object('jobs', erased));
    end if;
end $$;

-- Takes out of a finished job what it carried, also where errors of its attempts are all that is left of it.
-- Answers redacted, unfinished or unknown. A repeat is harmless.
create or replace function fairlead.redact(job_id bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    found_queue text;
    found_tenant text;
begin
    perform fairlead._require_read_committed();
    perform from fairlead.jobs j where j.id = redact.job_id and fairlead._sees(j.tenant);
    if found then
        return 'unfinished';
    end if;
    update fairlead.job_history h
    set payload = null, headers = null, dedup_key = null, result = null, error = null
    where h.id = redact.job_id and fairlead._sees(h.tenant)
    returning h.queue, h.tenant into found_queue, found_tenant;
    if not found then
        select '', e.tenant into found_queue, found_tenant from fairlead.attempt_errors e
        where e.job_id = redact.job_id and fairlead._sees(e.tenant) order by e.at limit 1;
    end if;
    if not found then
        return 'unknown';
    end if;
    update fairlead.attempt_errors e set error = '' where e.job_id = redact.job_id;
    delete from fairlead.job_progress p where p.job_id = redact.job_id;
    perform fairlead._record_audit(
        'redact', job_id => redact.job_id, queue => found_queue, tenant => found_tenant);
    return 'redacted';
end $$;

-- Cancels unfinished jobs of a queue, a tenant and a kind, of which null stands for any, in the order of their
-- ids: looks at 10,000 behind after_id at most, and cancels jobs_max at most. Those that another transaction has
-- locked are left and counted, so that no call waits. One that was asked to stop and that no worker has, as after a
-- claim that was rolled back, ends. Answers how many ended and will not run, how many run and were asked to stop
-- by this call, how many were locked, and the id to go on behind, null at the end.
create or replace function fairlead._cancel_jobs(
    queue text, tenant text, kind text, after_id bigint, jobs_max integer,
    out ended integer, out requested integer, out locked integer, out reached_id bigint
) language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    looked_max constant integer := 10000;
    wanted integer := least(greatest(_cancel_jobs.jobs_max, 0), looked_max);
    ids bigint[];
    running bigint[];
    asked bigint[];
    found_last bigint;
begin
    perform fairlead._require_read_committed();
    if coalesce(_cancel_jobs.queue, _cancel_jobs.tenant, _cancel_jobs.kind) is null then
        raise exception 'fairlead: name a queue, a tenant or a kind whose jobs to cancel'
            using errcode = 'null_value_not_allowed';
    end if;
    ended := 0;
    requested := 0;
    with looked as materialized (
        select j.id, j.queue, j.tenant, j.kind, j.enqueued_by, j.cancel_requested_at from fairlead.jobs j
        where j.id > coalesce(_cancel_jobs.after_id, 0) order by j.id limit looked_max
    ), alike as materialized (
        select l.id, l.tenant, l.enqueued_by from looked l
        where (l.cancel_requested_at is null or not exists (
                  select from fairlead.work_queue q where q.job_id = l.id and q.worker is not null offset 0))
          and (_cancel_jobs.queue is null or l.queue = _cancel_jobs.queue)
          and (_cancel_jobs.tenant is null or l.tenant = _cancel_jobs.tenant)
          and (_cancel_jobs.kind is null or l.kind = _cancel_jobs.kind)
    ), picked as materialized (
        select a.id from alike a where fairlead._owns(a.tenant, a.enqueued_by) order by a.id limit wanted
    )
    select p.ids, case when p.many >= wanted then p.last
                       when (select count(*) from looked) = looked_max then (select max(l.id) from looked l) end
    into ids, reached_id
    from (select coalesce(array_agg(k.id), '{}') as ids, count(*) as many, max(k.id) as last from picked k) p;

    locked := cardinality(ids);
    select coalesce(array_agg(f.id), '{}') into ids
    from (select j.id from fairlead.jobs j where j.id = any (ids) order by j.id for update skip locked) f;
    locked := locked - cardinality(ids);

    -- A new snapshot: a dispatch that held some of them is visible now. A row that is locked is being claimed.
    select coalesce(array_agg(q.job_id order by q.job_id), '{}') into running
    from fairlead.work_queue q
    where q.job_id = any (ids)
      and not q.job_id = any (array(
          select f.job_id from fairlead.work_queue f
          where f.job_id = any (ids) and f.worker is null for update skip locked));
    if cardinality(ids) = 0 then
        return;
    end if;
    with asked as (
        update fairlead.jobs j set cancel_requested_at = clock_timestamp()
        where j.id = any (running) and j.cancel_requested_at is null returning j.id
    )
    select coalesce(array_agg(a.id), '{}') into asked from asked a;
    requested := cardinality(asked);
    perform pg_notify('fairlead_cancel', a.id::text) from unnest(asked) a (id);
    ids := array(select i.id from unnest(ids) i (id) where not i.id = any (running));
    ended := cardinality(ids);
    perform fairlead._end_unstarted(ids, 'cancelled') where ended > 0;
    perform fairlead._record_audit(
        'cancel_jobs', queue => coalesce(_cancel_jobs.queue, ''), tenant => _cancel_jobs.tenant,
        details => jsonb_strip_nulls(jsonb_build_object(
            'kind', _cancel_jobs.kind, 'ended', ended, 'asked to stop', requested)))
    where ended + requested > 0;
end $$;

-- Makes the partitions that are missing of yesterday, today and the next days_ahead days, and of days whose endings
-- are in a default one, which move; returns how many it made. Each lock is waited for 50 ms: a class of which
-- another session holds one is left for the next call, with a warning. Nothing missing: nothing is locked.
--
-- A default partition is read under its lock for each one that is attached. While it is large, as it is after a move
-- until it is vacuumed, partitions of days ahead are left for later.
create or replace function fairlead.make_history_partitions(days_ahead integer default 14)
returns integer language plpgsql security definer
set search_path = pg_catalog, pg_temp set lock_timeout = '50ms' as $$
declare
    read_max constant bigint := 16 * 1024 * 1024;
    made integer := 0;
    ahead integer;
    class text;
    missing date[];
begin
    if not coalesce(days_ahead between 0 and 90, false) then
        raise invalid_parameter_value using message =
            'fairlead: partitions are made for 0 to 90 days ahead';
    end if;
    foreach class in array array['succeeded', 'unsuccessful'] loop
        begin
            ahead := case when pg_relation_size(to_regclass(format(
                'fairlead.%I', fairlead._history_partition(class, null)))) > read_max then 0 else days_ahead end;
            continue when fairlead._missing_history_partitions(class, ahead) = '{}';
            -- One at a time, and never while a migration runs.
            lock table fairlead.schema_versions in share row exclusive mode;
            missing := fairlead._missing_history_partitions(class, ahead);
            perform fairlead._make_history_partitions(class, missing);
            made := made + cardinality(missing);
        exception when lock_not_available then
            raise warning 'fairlead: partitions of job_history_% are left for later: another session holds a lock',
                class;
        end;
    end loop;
    return made;
end $$;

-- Cancels in one transaction, whose locks last until it ends: so 10,000 jobs at most.
drop function fairlead.cancel_jobs(text, text, text, integer);
create function fairlead.cancel_jobs(
    queue text default null, tenant text default null, kind text default null, jobs_max integer default 1000,
    out cancelled bigint, out locked bigint
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    step record;
    id bigint := 0;
begin
    if not coalesce(jobs_max between 1 and 10000, false) then
        raise exception 'fairlead: jobs_max is 1 to 10,000'
            using errcode = 'invalid_parameter_value',
                  hint = 'Call it again for the others, each time in a transaction of its own.';
    end if;
    cancelled := 0;
    locked := 0;
    while cancelled < jobs_max and id is not null loop
        step := fairlead._cancel_jobs(
            cancel_jobs.queue, cancel_jobs.tenant, cancel_jobs.kind, id, (jobs_max - cancelled)::integer);
        cancelled := cancelled + step.ended + step.requested;
        locked := locked + step.locked;
        id := step.reached_id;
    end loop;
end $$;
