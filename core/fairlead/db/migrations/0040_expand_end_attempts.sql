-- Ending attempts compares them as pairs too, as 0037_expand_pairs.sql does.

-- Deletes the work_queue rows of attempts whose jobs are gone: completed by their handlers, or deleted by
-- hand. Answers those attempts; one that is missing holds nothing, still has a job, or is locked: a
-- transaction that is still open, such as its handler's, decides what it is.
drop function fairlead._release(bigint[], bigint[], bigint[]);
create function fairlead._release(ids bigint[], tokens bigint[], run_us bigint[] default null)
returns table (job_id bigint, token bigint)
language sql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
begin atomic
    with asked as materialized (
        select a.job_id, a.token, a.run_us
        from unnest(ids, tokens, _release.run_us) as a (job_id, token, run_us)
    ), released as (
        delete from fairlead.work_queue q
        where q.ctid = any (array(
            select w.ctid from fairlead.work_queue w
            where w.job_id = any (ids)
              and ((w.job_id, w.token) in (select a.job_id, a.token from asked a)) is true
              and not exists (select from fairlead.jobs j where j.id = w.job_id offset 0)
            order by w.job_id for update skip locked))
        returning q.job_id, q.token, q.claimed_at
    ), receipt as (
        insert into fairlead.receipts (ended, run_us)
        select array_agg(r.job_id), array_agg(fairlead._charged_us(a.run_us, r.claimed_at))
        from released r join asked a on a.job_id = r.job_id and a.token = r.token
        having count(*) > 0
    )
    select r.job_id, r.token from released r;
end;

-- Frees the slots of attempts whose jobs are gone: completed by their handlers, or deleted. Answers the tokens
-- that it released; the others hold nothing, still have a job, or are locked. A repeat releases nothing.
create or replace function fairlead.release(ids bigint[], tokens bigint[], run_us bigint[] default null)
returns setof bigint language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    select r.token from fairlead._release(ids, own, release.run_us) r;
end $$;

-- Ends attempts without completing their jobs, as _end_attempts says, and waits for no lock. Answers what
-- became of each, and of which queue and kind its job is. A token that this session may not end is stale.
create or replace function fairlead.hand_back(
    ids bigint[], tokens bigint[], ended_as text[], errors text[] default null,
    delays interval[] default null
) returns table (job_id bigint, token bigint, became text, queue text, kind text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    with asked as materialized (
        select a.* from unnest(ids, own, hand_back.ended_as, errors, delays)
            as a (job_id, held, ended_as, error, delay)
        where a.held is not null
    ), given as materialized (
        select array_agg(a.job_id) as jobs, array_agg(a.held) as held, array_agg(a.ended_as) as how,
               array_agg(a.error) as why, array_agg(a.delay) as rests
        from asked a
    ), done as materialized (
        select e.job_id, e.token, e.became from given g cross join lateral fairlead._end_attempts(
            g.jobs, g.held, g.how, g.why, g.rests, true) e
        where g.jobs is not null
    )
    select a.job_id, a.token,
           coalesce((select d.became from done d where d.job_id = a.job_id and d.token = a.held), 'stale'),
           j.queue, j.kind
    from unnest(ids, tokens, own) as a (job_id, token, held)
    left join lateral (
        select j.queue, j.kind from fairlead.jobs j
        where j.id = a.job_id and a.held is not null offset 0) j on true;
end $$;

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
        select a.job_id, a.token, a.ended_as, a.error, h.pool, h.band, h.claimed_at, j.attempts,
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
        insert into fairlead.attempt_errors (job_id, token, attempt, ended_as, error)
        select d.job_id, d.token, fairlead._one_more(d.attempts), d.ended_as, coalesce(d.error, '')
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
