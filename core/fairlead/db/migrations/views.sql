-- What people read. No view counts a whole backlog: rows are counted up to a bound, and a column
-- says when the bound was met. Each migrate replaces those that differ (replace_views.sql), by CREATE
-- OR REPLACE, so that views which people built on them stay: columns of a public view are only ever
-- added, at its end. An older program of the same schema version leaves what it would have to take away.

create or replace view fairlead.job_status with (security_barrier) as
select j.id, j.queue, j.tenant, j.kind, j.priority, j.payload, j.dedup_key, j.headers, j.retry_of,
       case when q.worker is not null then 'running'
            when q.job_id is not null then 'queued'
            when j.run_at is not null then 'scheduled'
            else 'pending' end as state,
       least(j.attempts, 2147483646) + (q.worker is not null)::integer as attempt, j.max_attempts, j.crashes,
       j.losses,
       j.created_at, j.run_at, j.due_at, j.expires_at, q.runnable_at, q.claimed_at, q.deadline,
       null::timestamptz as finished_at, q.worker, q.token, j.cancel_requested_at,
       p.fraction as progress, p.note as progress_note,
       null::jsonb as result, j.last_error as error, j.enqueued_by
from fairlead.jobs j
left join lateral (select * from fairlead.work_queue q where q.job_id = j.id offset 0) q on true
left join lateral (
    select * from fairlead.job_progress p where p.job_id = j.id and p.token = q.token offset 0) p on true
where (select fairlead._reads_all()) or fairlead._owns(j.tenant, j.enqueued_by)
union all
select h.id, h.queue, h.tenant, h.kind, h.priority, h.payload, h.dedup_key, h.headers, h.retry_of,
       h.outcome, h.attempt, h.max_attempts, h.crashes, h.losses,
       h.created_at, null, h.due_at, null, h.runnable_at, h.claimed_at, null,
       h.finished_at, h.worker, h.token, null, null, null, h.result, h.error,
       h.enqueued_by
from fairlead.job_history h
where ((select fairlead._reads_all()) or fairlead._owns(h.tenant, h.enqueued_by))
  and not exists (select from fairlead.jobs j where j.id = h.id)
  and not exists (
      select from fairlead.job_history later
      where later.id = h.id
        and (later.finished_at, coalesce(later.token, 0)) > (h.finished_at, coalesce(h.token, 0)));
comment on view fairlead.job_status is
    'One row per job that is the caller''s: where it is in its life, or how it ended. Ask for it by id.';

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
-- completed job whose slot is not free is in work_queue only: it counts as due, and runs.
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
where (select fairlead._sees_all()) or fairlead._sees(s.tenant)
group by s.queue, s.tenant;
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
where (select fairlead._sees_all()) or fairlead._sees(s.tenant);
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
       sum(sum(s.scheduled)) over () > 10000 as scheduled_is_more
from (
    select n.queue, d.due, 0 as tenants, null::timestamptz as oldest_pending_at,
           0 as queued, 0 as running, 0 as scheduled, null::timestamptz as next_run_at, false as paused
    from named n cross join lateral (
        select count(*) as due from (
            select from fairlead.jobs j
            where j.queue = n.queue and j.run_at is null
            order by j.tenant, j.rank, j.seq limit (select 10001)) b) d
    union all
    select l.queue, 0, 1, l.oldest_pending_at, 0, 0, 0, null, false from fairlead._lanes l
    union all
    select q.queue, q.completed::integer, 0, null, (q.worker is null)::integer,
           (q.worker is not null)::integer, 0, null, false
    from fairlead.work_queue q
    union all
    (select j.queue, 0, 0, null, 0, 0, 1, j.run_at, false
     from fairlead.jobs j where j.run_at is not null order by j.run_at limit (select 10001))
    union all
    select p.queue, 0, 0, null, 0, 0, 0, null, true from fairlead.paused p where p.tenant is null
) s
where (select fairlead._sees_all())
group by s.queue;
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
       coalesce(w.slots_full, w.slots) as slots_full, d.drain_until, d.drained_at
from fairlead.worker_leases w
left join (
    select worker, count(*) as running from fairlead.work_queue where worker is not null
    group by worker) q on q.worker = w.id
left join fairlead.pod_drains d on d.pod_uid = w.pod_uid and d.drain_until > now();
comment on view fairlead.workers is
    'Worker processes, their leases and what they run. drain_until is that of a mark in force: the pod '
    'takes no more jobs until then.';
