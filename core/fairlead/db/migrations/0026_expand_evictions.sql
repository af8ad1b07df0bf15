-- Running jobs that agreed to it may be asked to stop so that a tenant without any can run.

create table fairlead.evictions (
    job_id       bigint not null constraint evictions_pkey primary key,
    token        bigint not null,
    requested_at timestamptz not null default clock_timestamp(),
    for_queue    text collate "C" not null,
    for_tenant   text collate "C" not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
create index evictions_requested on fairlead.evictions (requested_at);
comment on table fairlead.evictions is
    'Attempts that the leader has asked to stop, the last one of each job: kept for an hour, so that people '
    'can see it and that no job is asked again soon.';
comment on column fairlead.evictions.token is
    'The attempt that was asked; the request is void once the job has another token or none.';
comment on column fairlead.evictions.for_tenant is 'The tenant that waited, of the queue for_queue.';

alter table fairlead.worker_leases add column evictable_kinds text[];
comment on column fairlead.worker_leases.evictable_kinds is
    'Kinds whose handlers agreed to be asked to stop and run again later. At most 1,000 are listed; null: none.';

alter table fairlead.jobs add column checkpoint text;
comment on column fairlead.jobs.checkpoint is
    'What the last run noted as its progress, if it was released or lost and had not failed.';

alter table fairlead.receipts add column evicted bigint[];
comment on column fairlead.receipts.evicted is
    'Those of the ended that were asked to stop and are pending again, each with its place in its lane.';

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
        select d.job_id, d.token, d.attempts + 1, d.ended_as, coalesce(d.error, '')
        from decided d
        where d.became not in ('stale', 'locked')
          and d.ended_as in ('failed', 'crashed', 'lost', 'released')
    ), counted as (
        update fairlead.jobs j
        set attempts = j.attempts + (d.ended_as = 'failed' and d.became = 'scheduled')::integer,
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
               array_agg((extract(epoch from clock_timestamp() - d.claimed_at) * 1e6)::bigint)
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
        select array_agg(r.token) into released_tokens from fairlead._release(ids, tokens) as r (token);
    end if;
    return query
    select d.job_id, d.token, case when d.token = any (released_tokens) then 'stale' else d.became end
    from unnest(decided_ids, decided_tokens, decided_became) as d (job_id, token, became);
end $$;

-- The answer says as well whether the job's kind runs alone, and whether the job was asked to stop, for
-- whatever state the job is in because of it. The other tenant is named to those who may see its jobs.
create or replace function fairlead.explain(job_id bigint) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    answer jsonb := fairlead._explain(explain.job_id);
    kind text;
    workers bigint;
    asked record;
begin
    select j.kind into kind from fairlead.jobs j
    where j.id = explain.job_id and not answer ? 'asked'
      and answer ->> 'state' in ('pending', 'queued', 'running', 'scheduled');
    if kind is null then
        return answer;
    end if;
    select count(*) into workers from fairlead.worker_leases w
    where w.dead_at is null and w.lease_until > clock_timestamp()
      and w.crash_breakers @> jsonb_build_array(jsonb_build_array(kind, answer ->> 'tenant'));
    if workers > 0 then
        answer := answer || jsonb_build_object(
            'crash_breaker', jsonb_build_object('kind', kind, 'workers', workers),
            'sentence', format(
                '%s; jobs of kind %L of its tenant run one at a time on %s, because several have ended the '
                'process that ran them', answer ->> 'sentence', kind,
                case workers when 1 then '1 worker' else workers || ' workers' end));
    end if;
    select e.requested_at as at, e.for_queue as queue, e.for_tenant as tenant,
           fairlead._sees(e.for_tenant) as visible, q.job_id is not null as runs
    into asked
    from fairlead.evictions e
    left join fairlead.work_queue q on q.job_id = e.job_id and q.token = e.token
    where e.job_id = explain.job_id;
    if asked.at is null then
        return answer;
    end if;
    return answer || jsonb_build_object(
        'evicted', jsonb_build_object('requested_at', asked.at)
            || case when asked.visible
                    then jsonb_build_object('for_queue', asked.queue, 'for_tenant', asked.tenant)
                    else '{}' end,
        'sentence', format(
            case when asked.runs then '%s, and was asked to stop at %s so that %s could run'
                 else '%s; it was asked to stop at %s so that %s could run' end,
            answer ->> 'sentence', asked.at,
            case when asked.visible then format('tenant %L of queue %L', asked.tenant, asked.queue)
                 else 'another tenant' end));
end $$;
