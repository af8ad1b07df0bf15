-- What people, handlers and sweeps call. Lock order everywhere: leader, worker, jobs, work_queue, and
-- within a table by job id. A session that holds a jobs row takes work_queue rows only with SKIP LOCKED;
-- completion alone takes work_queue first. Each function that changes or hands back a job locks the
-- job FOR UPDATE in one statement and looks at work_queue in a second one: in a single statement the
-- old snapshot misses a row that a dispatch has just inserted.
--
-- They are called from anybody's session, where a plan that was made while jobs was empty may be kept
-- until it holds a million rows: so they plan without sequential scans, as the services' sessions do.
--
-- Names that begin with an underscore are Fairlead's own and may change.
-- SQLSTATE FL001: the fencing token is stale, another attempt holds the job now.

-- Two statements see two snapshots only under READ COMMITTED.
create function fairlead._require_read_committed() returns void language plpgsql as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'fairlead: this function needs READ COMMITTED, the transaction is %',
            upper(current_setting('transaction_isolation'))
            using errcode = 'FL003', hint = 'Call it in a transaction of its own.';
    end if;
end $$;

-- Does this epoch lead? Holds the leader's row, so that a take-over waits for this statement.
create function fairlead._leads(my_epoch bigint) returns boolean language plpgsql as $$
begin
    perform from fairlead.leaders l
    where l.role = 'scheduler' and l.epoch = my_epoch for share;
    return found;
end $$;

-- Full jitter over one second times two to the power of the failures so far, at most an hour
-- (Brooker, "Exponential backoff and jitter").
create function fairlead._backoff(failures integer) returns interval language sql volatile as $$
    select interval '1 second' * (random() * least(3600, 2.0 ^ least(greatest(failures, 0), 12)))
$$;

-- Ends jobs whose rows the caller holds: they leave jobs and work_queue and enter the history.
create function fairlead._end_jobs(
    ids bigint[], outcomes text[], errors text[] default null, results jsonb[] default null
) returns void language sql
begin atomic
    with asked as materialized (
        select a.id, a.outcome, a.error, a.result
        from unnest(ids, outcomes, errors, results) as a (id, outcome, error, result)
    ), held as (
        delete from fairlead.work_queue q where q.job_id = any (ids)
        returning q.job_id, q.token, q.worker, q.runnable_at, q.claimed_at
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
    select array_agg(h.job_id),
           array_agg(coalesce(extract(epoch from clock_timestamp() - h.claimed_at) * 1e6, 0)::bigint)
    from held h having count(*) > 0;
end;

-- Ends jobs that no worker holds, whose rows the caller holds. No worker counts them, so the leader
-- receives their queue and kind.
create function fairlead._end_unstarted(ids bigint[], outcome text, errors text[] default null)
returns void language plpgsql as $$
begin
    insert into fairlead.receipts (queues, kinds, outcomes)
    select array_agg(j.queue), array_agg(j.kind), array_agg(_end_unstarted.outcome)
    from fairlead.jobs j where j.id = any (ids);
    perform fairlead._end_jobs(ids, array_fill(outcome, array[cardinality(ids)]), errors);
end $$;

-- Finishes the job with its result, in the caller's transaction: the job is done when that commits.
-- A stale token raises FL001, so that the caller's transaction cannot commit. A repeat raises too. The
-- result has a payload's bounds, so that what reads it in Python can.
create function fairlead.complete(job_id bigint, token bigint, result jsonb default null)
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
    perform from fairlead.work_queue q
    where q.job_id = complete.job_id and q.token = complete.token for update;
    if not found then
        perform fairlead._raise_stale(complete.job_id, complete.token);
    end if;
    perform fairlead._end_jobs(
        array[complete.job_id], array['succeeded'], array[null::text], array[result]);
end $$;

create function fairlead._raise_stale(job_id bigint, token bigint) returns void
language plpgsql as $$
begin
    raise exception 'fairlead: token % no longer holds job %', token, job_id
        using errcode = 'FL001',
              hint = 'The lease was lost; another worker has the job or it has ended. Roll back.';
end $$;

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
-- with skip_locked it waits for no lock and answers locked.
create function fairlead._end_attempts(
    ids bigint[], tokens bigint[], ended_as text[], errors text[], delays interval[],
    skip_locked boolean default false
) returns table (job_id bigint, token bigint, became text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    mine bigint[];
    decided_ids bigint[];
    decided_tokens bigint[];
    decided_became text[];
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
        perform from fairlead.jobs j where j.id = any (ids) order by j.id for update;
        mine := ids;
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
    return query select * from unnest(decided_ids, decided_tokens, decided_became);
end $$;

-- Fails one attempt: the job runs again after retry_in (null: back-off), or has failed for good when
-- its attempts are used up. Answers scheduled, failed or cancelled. A stale token raises FL001.
create function fairlead.fail(
    job_id bigint, token bigint, error text default '', retry_in interval default null
) returns text language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    new_state text;
begin
    select e.became into new_state from fairlead._end_attempts(
        array[fail.job_id], array[fail.token], array['failed'], array[error], array[retry_in]) e;
    if new_state = 'stale' then
        perform fairlead._raise_stale(fail.job_id, fail.token);
    elsif new_state = 'locked' then
        raise exception 'fairlead: another open transaction holds the attempt of job %', fail.job_id
            using errcode = 'lock_not_available', hint = 'Call it again when that has ended.';
    end if;
    return new_state;
end $$;

-- Moves the attempt's deadline to at least by from now, and answers it. A stale token raises FL001.
create function fairlead.extend(job_id bigint, token bigint, by interval)
returns timestamptz language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    until timestamptz;
begin
    if by is null or by <= interval '0' or by > interval '30 days' then
        raise exception 'fairlead: extend by must be over 0 and at most 30 days, not %', by
            using errcode = 'check_violation';
    end if;
    update fairlead.work_queue q set deadline = greatest(q.deadline, clock_timestamp() + by)
    where q.job_id = extend.job_id and q.token = extend.token
    returning q.deadline into until;
    if not found then
        perform fairlead._raise_stale(extend.job_id, extend.token);
    end if;
    return until;
end $$;

-- Cancels a job. Answers cancelled (it ended here and will not run), requested (it runs; its worker
-- learns of it at its next renewal, at the latest), finished, or unknown. A repeat is harmless.
create function fairlead.cancel(job_id bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    queued boolean;
    free boolean;
begin
    perform fairlead._require_read_committed();
    perform from fairlead.jobs j
    where j.id = cancel.job_id and fairlead._sees(j.tenant) for update;
    if not found then
        perform from fairlead.job_history h where h.id = cancel.job_id and fairlead._sees(h.tenant);
        return case when found then 'finished' else 'unknown' end;
    end if;
    -- A second statement, and so a new snapshot: a dispatch that held the job is visible now.
    select true into queued from fairlead.work_queue q where q.job_id = cancel.job_id;
    if queued then
        select q.worker is null into free from fairlead.work_queue q
        where q.job_id = cancel.job_id for update skip locked;
        if free is distinct from true then
            update fairlead.jobs j
            set cancel_requested_at = coalesce(j.cancel_requested_at, clock_timestamp())
            where j.id = cancel.job_id;
            perform pg_notify('fairlead_cancel', cancel.job_id::text);
            return 'requested';
        end if;
    end if;
    perform fairlead._end_unstarted(array[cancel.job_id], 'cancelled');
    return 'cancelled';
end $$;

-- Stops new dispatch of a queue, or of one tenant in it, from the scheduler's next tick; what is
-- queued is recalled within 2 s, what runs finishes. A repeat changes nothing.
create function fairlead.pause(queue text, tenant text default null) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
begin
    if octet_length(pause.queue) not between 1 and 128 or octet_length(pause.tenant) > 128 then
        raise exception 'fairlead: queue must be 1 to 128 bytes and tenant at most 128'
            using errcode = 'check_violation';
    end if;
    if not fairlead._sees_all() and (pause.tenant is null or not fairlead._sees(pause.tenant)) then
        raise exception 'fairlead: this login may pause its own tenant only'
            using errcode = 'insufficient_privilege';
    end if;
    insert into fairlead.paused (queue, tenant) values (pause.queue, pause.tenant)
    on conflict do nothing;
    perform pg_notify('fairlead_scheduler', '');
end $$;

-- Ends a pause made with the same arguments; answers whether there was one.
create function fairlead.resume(queue text, tenant text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    was_paused boolean;
begin
    if not fairlead._sees_all() and (resume.tenant is null or not fairlead._sees(resume.tenant)) then
        raise exception 'fairlead: this login may resume its own tenant only'
            using errcode = 'insufficient_privilege';
    end if;
    delete from fairlead.paused p
    where p.queue = resume.queue and p.tenant is not distinct from resume.tenant;
    was_paused := found;
    perform pg_notify('fairlead_scheduler', '');
    return was_paused;
end $$;
