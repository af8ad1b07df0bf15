-- What ends attempts, bounded by bytes as other moves of jobs are, and for kinds that run at most once (0058).

-- Ends attempts without completing their jobs. For each pair of id and token, ended_as says how:
--   failed    the handler failed: run again after delay (null: back-off), or failed for good when
--             the attempts are used up
--   snoozed   run again after delay, without using an attempt
--   returned  it had not started; released: it had, and was cut short; back to the queue unpunished
--   crashed   the process that ran it died; lost: its whole worker did. Back to the queue, to run
--             alone after a crash and after every third loss, until an attempt alone has ended in
--             another way; quarantined after three deaths alone
-- A kind that runs at most once on the worker that had the attempt has failed, whatever ended it, unless its handler
-- put it off or it cannot have begun. One that was asked to stop is pending instead of queued, with its place in its
-- lane: in the queue its tag would let it go before the tenant that it makes room for.
-- Answers what became of each: scheduled, queued, pending, failed, cancelled (a request was waiting), stale (the
-- token holds nothing), or locked: a transaction that is still open holds the lease, such as one of its handler;
-- nothing was changed, so ask again. It waits for the session that holds the job itself; with skip_locked it waits
-- for no lock and answers locked, also of jobs that would end and whose bytes are more than are moved at once. Where
-- the job is gone, as after its completion by a handler, the slot is free from here on, and the answer is stale.
create function fairlead._end_attempts(
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
        select array_agg(s.id) filter (where s.ending = 0 or s.before < fairlead._bytes_at_once()) into mine
        from (
            select l.id, l.ending, sum(l.ending) over (rows unbounded preceding) - l.ending as before
            from (
                select j.id, case when j.cancel_requested_at is not null or j.lone_deaths >= 2
                                  then fairlead._stored_bytes(j.payload, j.headers, j.last_error) else 0 end as ending
                from fairlead.jobs j where j.id = any (ids) order by j.id
                for update skip locked) l) s;
    else
        select array_agg(l.id) into mine from (
            select j.id from fairlead.jobs j where j.id = any (ids) order by j.id for update) l;
    end if;
    with asked as materialized (
        select a.* from unnest(ids, tokens, ended_as, errors, delays)
            as a (job_id, token, ended_as, error, delay)
    ), held as materialized (
        select q.job_id, q.token, q.pool, q.band, q.alone, q.claimed_at, q.worker
        from fairlead.work_queue q
        where q.job_id = any (mine)
          and ((q.job_id, q.token) in (select a.job_id, a.token from asked a)) is true
        order by q.job_id for update skip locked
    ), decided as materialized (
        select a.job_id, a.token, a.ended_as, a.error, h.pool, h.band, h.claimed_at, j.tenant, j.attempts,
               coalesce(o.attempts, m.attempts) as attempts_max, o.attempts is not null as once,
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
                   when o.attempts is not null then 'failed'
                   when a.ended_as = 'failed'
                        and fairlead._one_more(j.attempts) >= m.attempts
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
        left join lateral (
            select fairlead._attempts_of(j.max_attempts, j.kind, h.worker) as attempts
            where a.ended_as = 'failed' and h.job_id is not null offset 0) m on true
        left join lateral (
            select 1 as attempts from fairlead.worker_kinds k
            where a.ended_as in ('failed', 'crashed', 'lost', 'released') and k.worker = h.worker
              and k.at_most_once[array_position(k.kinds, j.kind)] offset 0) o on true
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
            -- So that the history says how many there were.
            max_attempts = case when d.became = 'failed' then coalesce(d.attempts_max, j.max_attempts)
                                else j.max_attempts end,
            -- The next wait of one that is pending is counted from here, and not from before it ran.
            due_at = case when d.became = 'pending' then clock_timestamp()
                          else coalesce(j.due_at, j.created_at) end,
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
               when d.once and d.ended_as <> 'failed'
                   then concat_ws('; ', nullif(d.error, ''), 'it runs at most once')
               when d.became = 'failed' and d.ended_as in ('crashed', 'lost')
                   then 'quarantined: the process that ran it alone died '
                        || d.lone_deaths || ' times; ' || coalesce(d.error, '')
               else d.error end) filter (where d.became in ('failed', 'cancelled'))
    into decided_ids, decided_tokens, decided_became, over_ids, over_became, over_errors
    from decided d;
    -- In a statement of its own, so that the ending carries the counts from above.
    if over_ids is not null then
        perform fairlead._end_jobs(over_ids, over_became, over_errors);
        perform fairlead._tell_waiting(over_ids);
    end if;
    if 'queued' = any (decided_became) then
        perform fairlead._notify('fairlead_work', '');
    end if;
    -- What looks locked may be a row whose job is gone.
    if 'locked' = any (decided_became) then
        select array_agg(r.job_id) into released_ids from fairlead._release(ids, tokens) r;
    end if;
    return query
    select d.job_id, d.token, case when d.job_id = any (released_ids) then 'stale' else d.became end
    from unnest(decided_ids, decided_tokens, decided_became) as d (job_id, token, became);
end $$;
