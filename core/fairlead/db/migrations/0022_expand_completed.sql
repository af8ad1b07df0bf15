-- A handler that finishes its job early keeps its slot, and so does the work_queue row: limits count it and
-- the tenant is charged for it until the handler is over.

alter table fairlead.work_queue add column completed boolean not null default false;
comment on column fairlead.work_queue.completed is
    'Its handler has finished the job, which is in the history, and has the slot still.';

alter table fairlead.worker_leases add column releases_slots boolean not null default false;
comment on column fairlead.worker_leases.releases_slots is
    'Whether it deletes the work_queue row of a job that complete has finished, once the handler is over; '
    'false: complete deletes it, as a worker in another language expects.';

alter table fairlead.receipts add column passed_over bigint[];
comment on column fairlead.receipts.passed_over is
    'Unclaimed rows that a claim passed over, because the worker has no room for more of their kinds.';

-- Ends jobs whose rows the caller holds: they leave jobs and enter the history; they leave work_queue as
-- well, unless a handler that has completed its job has the slot still.
create or replace function fairlead._end_jobs(
    ids bigint[], outcomes text[], errors text[] default null, results jsonb[] default null
) returns void language sql
begin atomic
    with asked as materialized (
        select a.id, a.outcome, a.error, a.result
        from unnest(ids, outcomes, errors, results) as a (id, outcome, error, result)
    ), held as materialized (
        select q.job_id, q.token, q.worker, q.runnable_at, q.claimed_at
        from fairlead.work_queue q where q.job_id = any (ids)
    ), released as (
        delete from fairlead.work_queue q where q.job_id = any (ids) and not q.completed
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

-- Finishes the job with its result, in the caller's transaction: the job is done when that commits. The
-- slot is not free before its worker has released it, unless the worker expects this to do so.
-- A stale token raises FL001, so that the caller's transaction cannot commit. A repeat raises too. The
-- result has a payload's bounds, so that what reads it in Python can.
create or replace function fairlead.complete(job_id bigint, token bigint, result jsonb default null)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
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
    where q.job_id = complete.job_id and q.token = complete.token and not q.completed;
    if not found then
        perform fairlead._raise_stale(complete.job_id, complete.token);
    end if;
    perform fairlead._end_jobs(
        array[complete.job_id], array['succeeded'], array[null::text], array[result]);
end $$;

-- Deletes the work_queue rows of attempts whose jobs are gone: completed by their handlers, or deleted by
-- hand. Answers their tokens; one that is missing holds nothing, still has a job, or is locked: a
-- transaction that is still open, such as its handler's, decides what it is.
create function fairlead._release(ids bigint[], tokens bigint[], run_us bigint[] default null)
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
        select array_agg(r.job_id),
               array_agg(coalesce(a.run_us, extract(epoch from clock_timestamp() - r.claimed_at) * 1e6)::bigint)
        from released r join unnest(tokens, _release.run_us) as a (token, run_us) on a.token = r.token
        having count(*) > 0
    )
    select r.token from released r;
end;

-- Ends attempts without completing their jobs. For each pair of id and token, ended_as says how:
--   failed    the handler failed: run again after delay (null: back-off), or failed for good when
--             the attempts are used up
--   snoozed   run again after delay, without using an attempt
--   returned  it had not started; released: it had, and was cut short; back to the queue unpunished
--   crashed   the process that ran it died; lost: its whole worker did. Back to the queue, to run
--             alone after a crash and after every third loss, until an attempt alone has ended in
--             another way; quarantined after three deaths alone
-- Answers what became of each: scheduled, queued, failed, cancelled (a request was waiting), stale
-- (the token holds nothing), or locked: a transaction that is still open holds the lease, such as
-- one of its handler; nothing was changed, so ask again. It waits for the session that holds the job itself;
-- with skip_locked it waits for no lock and answers locked. Where the job is gone, as after its
-- completion by a handler, the slot is free from here on, and the answer is stale.
create or replace function fairlead._end_attempts(
    ids bigint[], tokens bigint[], ended_as text[], errors text[], delays interval[],
    skip_locked boolean default false
) returns table (job_id bigint, token bigint, became text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    mine bigint[];
    decided_ids bigint[];
    decided_tokens bigint[];
    decided_became text[];
    released_tokens bigint[];
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
        where q.job_id = any (mine) and q.token = any (tokens) order by q.job_id
        for update skip locked
    ), decided as materialized (
        select a.job_id, a.token, a.ended_as, a.error, h.pool, h.band, h.claimed_at, j.attempts,
               j.crashes + (a.ended_as = 'crashed')::integer as crashes,
               j.losses + (a.ended_as = 'lost')::integer as losses,
               j.lone_deaths + (h.alone and a.ended_as in ('crashed', 'lost'))::integer as lone_deaths,
               case when a.ended_as = 'crashed' or a.ended_as = 'lost' and (j.losses + 1) % 3 = 0
                        then true
                    when h.alone and a.ended_as in ('failed', 'snoozed', 'released') then false
                    else j.suspect end as suspect,
               least(greatest(coalesce(a.delay, fairlead._backoff(j.attempts)), interval '0'),
                     interval '1000 years') as delay,
               case
                   when h.job_id is null and l.job_id is not null then 'locked'
                   when h.job_id is null then 'stale'
                   when j.cancel_requested_at is not null then 'cancelled'
                   when a.ended_as = 'failed' and j.attempts + 1 >= j.max_attempts then 'failed'
                   when a.ended_as in ('crashed', 'lost') and h.alone and j.lone_deaths >= 2
                       then 'failed'
                   when a.ended_as in ('failed', 'snoozed') then 'scheduled'
                   else 'queued'
               end as became
        from asked a
        left join held h on h.job_id = a.job_id and h.token = a.token
        left join lateral (
            select q.job_id from fairlead.work_queue q
            where q.job_id = a.job_id and q.token = a.token offset 0) l on true
        left join lateral (select * from fairlead.jobs j where j.id = a.job_id offset 0) j on true
    ), noted as (
        insert into fairlead.attempt_errors (job_id, token, attempt, ended_as, error)
        select d.job_id, d.token, d.attempts + 1, d.ended_as, coalesce(d.error, '')
        from decided d
        where d.became not in ('stale', 'locked')
          and d.ended_as in ('failed', 'crashed', 'lost', 'released')
    ), counted as (
        update fairlead.jobs j
        set attempts = j.attempts + (d.ended_as = 'failed' and d.became = 'scheduled')::integer,
            crashes = d.crashes, losses = d.losses, lone_deaths = d.lone_deaths, suspect = d.suspect,
            last_error = coalesce(d.error, j.last_error), due_at = coalesce(j.due_at, j.created_at),
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
        where q.job_id = any (array(select d.job_id from decided d where d.became = 'scheduled'))
    ), receipted as (
        insert into fairlead.receipts (ended, run_us, returned)
        select array_agg(d.job_id) filter (where d.became = 'scheduled'),
               array_agg((extract(epoch from clock_timestamp() - d.claimed_at) * 1e6)::bigint)
                   filter (where d.became = 'scheduled'),
               array_agg(d.job_id) filter (where d.became = 'queued')
        from decided d having bool_or(d.became in ('scheduled', 'queued'))
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
        select array_agg(r.token) into released_tokens from fairlead._release(ids, tokens) as r (token);
    end if;
    return query
    select d.job_id, d.token, case when d.token = any (released_tokens) then 'stale' else d.became end
    from unnest(decided_ids, decided_tokens, decided_became) as d (job_id, token, became);
end $$;
