-- What people read. No view counts a whole backlog: rows are counted up to a bound, and a column
-- says when the bound was met. Each migrate replaces those that differ (replace_views.sql), by CREATE
-- OR REPLACE, so that views which people built on them stay: columns of a public view are only ever
-- added, at its end. An older program of the same schema version leaves what it would have to take away.

-- No condition sees what is not the caller's, not even a function of its own that costs nothing: that is
-- security_barrier. Of a view that is UNION ALL and nothing else the planner makes a part of the query around it,
-- whatever the view says; a CTE keeps it from that. What is leakproof, such as a comparison of ids, still
-- reaches the indexes.
create or replace view fairlead.job_status with (security_barrier) as
with asker as materialized (select fairlead._reads_all() as reads_all)
select j.id, j.queue, j.tenant, j.kind, j.priority, j.payload, j.dedup_key, j.headers, j.retry_of,
       case when q.worker is not null then 'running'
            when q.job_id is not null then 'queued'
            when j.run_at is not null then 'scheduled'
            else 'pending' end as state,
       least(j.attempts, 2147483646) + (q.worker is not null)::integer as attempt,
       coalesce(j.max_attempts, (
           select k.max_attempts from fairlead.announced_kinds k
           where k.kind = j.kind order by k.worker desc limit 1), 20) as max_attempts, j.crashes,
       j.losses,
       j.created_at, j.run_at, j.due_at, j.expires_at, q.runnable_at, q.claimed_at, q.deadline,
       null::timestamptz as finished_at, q.worker, q.token, j.cancel_requested_at,
       p.fraction as progress, p.note as progress_note,
       null::jsonb as result, j.last_error as error, j.enqueued_by
from fairlead.jobs j
left join lateral (select * from fairlead.work_queue q where q.job_id = j.id offset 0) q on true
left join lateral (
    select * from fairlead.job_progress p where p.job_id = j.id and p.token = q.token offset 0) p on true
where (select a.reads_all from asker a) or fairlead._owns(j.tenant, j.enqueued_by)
union all
select h.id, h.queue, h.tenant, h.kind, h.priority, h.payload, h.dedup_key, h.headers, h.retry_of,
       h.outcome, h.attempt, coalesce(h.max_attempts, (
           select k.max_attempts from fairlead.announced_kinds k
           where k.kind = h.kind order by k.worker desc limit 1), 20),
       h.crashes, h.losses,
       h.created_at, null, h.due_at, null, h.runnable_at, h.claimed_at, null,
       h.finished_at, h.worker, h.token, null, null, null, h.result, h.error,
       h.enqueued_by
from fairlead.job_history h
where ((select a.reads_all from asker a) or fairlead._owns(h.tenant, h.enqueued_by))
  and not exists (select from fairlead.jobs j where j.id = h.id)
  and not exists (
      select from fairlead.job_history later
      where later.id = h.id
        and (later.finished_at, coalesce(later.token, 0)) > (h.finished_at, coalesce(h.token, 0)));
comment on view fairlead.job_status is
    'One row per job that is the caller''s: where it is in its life, or how it ended. Ask for it by id; list_jobs '
    'lists by anything else.';

-- What is not counted is counted here up to a thousand, whichever of it has ended: the leader counts in the order in which jobs
-- joined, so the first that it has not counted is what it waits for.
create or replace view fairlead.batch_status with (security_barrier) as
with asker as materialized (select fairlead._reads_all() as reads_all)
select b.id, b.tenant, b.queue, b.kind, b.priority,
       case when b.completion_job is not null then 'completed'
            when b.completed_at is not null then 'given_up'
            when b.problem is not null then 'refused'
            when b.open then 'open'
            else 'waiting' end as state,
       b.succeeded + b.failed + b.cancelled + b.expired + b.unknown + u.jobs as jobs, u.jobs > 1000 as jobs_is_more,
       b.succeeded, b.failed, b.cancelled, b.expired, b.unknown, u.jobs as uncounted,
       case when b.completed_at is not null then null
            when b.problem is not null then b.problem
            when f.unfinished then 'job ' || f.job_id
            when f.job_id is not null then 'the leader, which counts its jobs'
            when b.open then 'close_batch'
            else 'the leader, which inserts its completion' end as waits_for,
       b.created_at, b.completed_at, b.completion_job, b.created_by
from fairlead.batches b
cross join lateral (
    select count(*) as jobs from (
        select from fairlead.batch_jobs m where m.batch = b.id and m.place > b.counted_to and b.completed_at is null
        order by m.place limit (select 1001)) n) u
left join lateral (
    select m.job_id, exists (select from fairlead.jobs j where j.id = m.job_id offset 0) as unfinished
    from fairlead.batch_jobs m
    where m.batch = b.id and m.place > b.counted_to and b.completed_at is null order by m.place limit 1) f on true
where (select a.reads_all from asker a) or fairlead._owns_batch(b.tenant, b.created_by);
comment on view fairlead.batch_status is
    'One row per batch that is the caller''s: how its jobs have ended, as far as they are counted, and what it waits for. '
    'state is open (until close_batch), waiting (for its jobs), refused (its completion cannot be inserted, which is tried '
    'again), completed, or given_up (nobody closed it, or it was erased). jobs has those that are not counted, too, a '
    'thousand at most, then jobs_is_more. Ask for it by id; list_batches lists by anything else.';

-- The lanes with rows that are due, by jumping from one to the next in the lane index, and since when
-- the job at the head of each has been waiting.
create or replace view fairlead._lanes as
with recursive lane as (
    (select j.queue, j.tenant from fairlead.jobs j where j.run_at is null
     order by j.queue, j.tenant limit 1)
    union all
    select n.queue, n.tenant from lane l cross join lateral (
        select j.queue, j.tenant from fairlead.jobs j
        where j.run_at is null and (j.queue, j.tenant) > (l.queue, l.tenant)
        order by j.queue, j.tenant limit 1) n
)
select l.queue, l.tenant, h.since as oldest_pending_at
from lane l left join lateral (
    select coalesce(j.due_at, j.created_at) as since from fairlead.jobs j
    where j.queue = l.queue and j.tenant = l.tenant and j.run_at is null
      and not exists (select from fairlead.work_queue q where q.job_id = j.id offset 0)
    order by j.rank, j.seq limit 1) h on true;

-- Added up and never joined: a join's plan would depend on statistics, and these tables may be
-- empty whenever ANALYZE runs. For the same reason what is counted up to a bound is put in the
-- index's order, and the bound is a subquery: a plan that reads all of a lane before it answers the
-- first row looks cheap while a lane is thought to be short, unless only a part is wanted of it. A
-- completed job whose slot is not free is in work_queue only: it counts as due, and runs. A distinct count has
-- the rows sorted: among ten thousand names of one hash, which a login may choose, a table of hashes takes minutes.
create or replace view fairlead.tenant_stats with (security_barrier) as
select s.queue, s.tenant,
       greatest(sum(s.due) - sum(s.queued) - sum(s.running), 0)::bigint as pending,
       sum(s.due) > 1000 as pending_is_more,
       sum(s.queued)::bigint as queued, sum(s.running)::bigint as running,
       min(s.oldest_pending_at) as oldest_pending_at, min(s.oldest_runnable_at) as oldest_runnable_at
from (
    select l.queue, l.tenant, d.due, l.oldest_pending_at,
           0 as queued, 0 as running, null::timestamptz as oldest_runnable_at
    from fairlead._lanes l
    cross join lateral (
        select count(*) as due from (
            select from fairlead.jobs j
            where j.queue = l.queue and j.tenant = l.tenant and j.run_at is null
            order by j.rank, j.seq limit (select 1001)) b) d
    union all
    select q.queue, q.tenant, q.completed::integer, null, (q.worker is null)::integer,
           (q.worker is not null)::integer,
           case when q.worker is null then q.runnable_at end
    from fairlead.work_queue q
) s
where (select fairlead._sees_all() or fairlead._reads_all()) or fairlead._sees(s.tenant)
group by s.queue, s.tenant having count(distinct 1) > 0;
comment on view fairlead.tenant_stats is
    'Tenants with work that is due; it is counted up to 1,000 a tenant, then pending_is_more. '
    'oldest_pending_at is that of the job at the head of the lane.';

create or replace view fairlead.tenant_shares with (security_barrier) as
select r.pool, s.queue, s.tenant, s.weight, s.share, s.entitled_share, s.slot_seconds,
       s.lag_slot_seconds, s.running, s.queued, s.oldest_wait_seconds, s.mean_run_seconds,
       s.blocked_by, s.blocked_since, r.since, r.at
from fairlead.fairness_reports r
cross join lateral jsonb_to_recordset(r.report -> 'tenants') s (
    queue text, tenant text, weight double precision, share double precision,
    entitled_share double precision, slot_seconds double precision,
    lag_slot_seconds double precision, running bigint, queued bigint,
    oldest_wait_seconds double precision, mean_run_seconds double precision,
    blocked_by text, blocked_since timestamptz)
where (select fairlead._sees_all() or fairlead._reads_all()) or fairlead._sees(s.tenant);
comment on view fairlead.tenant_shares is
    'What each tenant had of its pool''s slots from since to at, and what it was entitled to: at most '
    'the 1,000 that had most. lag_slot_seconds is what it had beyond that: below zero it is behind.';

create or replace view fairlead.queue_stats as
with recursive named as (
    (select j.queue from fairlead.jobs j where j.run_at is null order by j.queue limit 1)
    union all
    select n.queue from named l cross join lateral (
        select j.queue from fairlead.jobs j
        where j.run_at is null and j.queue > l.queue order by j.queue limit 1) n
)
select s.queue, greatest(sum(s.due) - sum(s.queued) - sum(s.running), 0)::bigint as pending,
       sum(s.due) > 10000 as pending_is_more,
       sum(s.queued)::bigint as queued, sum(s.running)::bigint as running,
       sum(s.scheduled)::bigint as scheduled, min(s.next_run_at) as next_run_at,
       sum(s.tenants)::bigint as tenants, min(s.oldest_pending_at) as oldest_pending_at,
       bool_or(s.paused) as paused,
       sum(sum(s.scheduled)) over () > 10000 as scheduled_is_more, max(s.paused_until) as paused_until
from (
    select n.queue, d.due, 0 as tenants, null::timestamptz as oldest_pending_at,
           0 as queued, 0 as running, 0 as scheduled, null::timestamptz as next_run_at, false as paused,
           null::timestamptz as paused_until
    from named n cross join lateral (
        select count(*) as due from (
            select from fairlead.jobs j
            where j.queue = n.queue and j.run_at is null
            order by j.tenant, j.rank, j.seq limit (select 10001)) b) d
    union all
    select l.queue, 0, 1, l.oldest_pending_at, 0, 0, 0, null, false, null from fairlead._lanes l
    union all
    select q.queue, q.completed::integer, 0, null, (q.worker is null)::integer,
           (q.worker is not null)::integer, 0, null, false, null
    from fairlead.work_queue q
    union all
    (select j.queue, 0, 0, null, 0, 0, 1, j.run_at, false, null
     from fairlead.jobs j where j.run_at is not null order by j.run_at limit (select 10001))
    union all
    select p.queue, 0, 0, null, 0, 0, 0, null, true, p.until from fairlead.paused p where p.tenant is null
) s
where (select fairlead._sees_all() or fairlead._reads_all())
group by s.queue having count(distinct 1) > 0;
comment on view fairlead.queue_stats is
    'Queues with unfinished work, for logins that see every tenant. What is due is counted up to '
    '10,000 a queue, then pending_is_more; scheduled counts the next 10,000 jobs to fall due, and '
    'scheduled_is_more says that there are others, of whichever queue.';

create or replace view fairlead.workers as
select w.id, w.name, w.pool, w.host, w.pod_uid, w.pod_name, w.slots,
       coalesce(q.running, 0) as running, w.version, w.started_at, w.lease_until, w.dead_at,
       case when w.dead_at is not null then 'dead'
            when w.lease_until < now() then 'lapsed'
            else 'live' end as state,
       coalesce(w.slots_full, w.slots) as slots_full, d.drain_until, d.drained_at,
       least(greatest(q.running - w.slots, w.beside, 0), coalesce(q.running, 0)) as held
from fairlead.worker_leases w
left join (
    select worker, count(*) as running from fairlead.work_queue where worker is not null
    group by worker) q on q.worker = w.id
left join fairlead.pod_drains d on d.pod_uid = w.pod_uid and d.drain_until > now();
comment on view fairlead.workers is
    'Worker processes, their leases and what they have leased: running, of which held are those that no '
    'slot is free for yet. drain_until is that of a mark in force: the pod takes no more jobs until then.';
