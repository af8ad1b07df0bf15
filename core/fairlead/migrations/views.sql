-- What people read. No view counts a whole backlog: pending jobs are counted up to a bound, and
-- a column says when the bound was met. Dropped and made anew on every migrate.

drop view if exists fairlead.job_status, fairlead.queue_stats, fairlead.tenant_stats, fairlead.workers;

create view fairlead.job_status with (security_barrier) as
select j.id, j.queue, j.tenant, j.kind, j.priority, j.payload, j.dedup_key, j.headers, j.retry_of,
       case when q.worker is not null then 'running'
            when q.job_id is not null then 'queued'
            when j.run_at is not null then 'scheduled'
            else 'pending' end as state,
       j.attempts + (q.worker is not null)::integer as attempt, j.max_attempts, j.crashes, j.losses,
       j.created_at, j.run_at, j.due_at, j.expires_at, q.runnable_at, q.claimed_at, q.deadline,
       null::timestamptz as finished_at, q.worker, q.token, j.cancel_requested_at,
       p.fraction as progress, p.note as progress_note,
       null::jsonb as result, j.last_error as error
from fairlead.jobs j
left join lateral (select * from fairlead.work_queue q where q.job_id = j.id offset 0) q on true
left join lateral (
    select * from fairlead.job_progress p where p.job_id = j.id and p.token = q.token offset 0) p on true
where fairlead._sees(j.tenant)
union all
select h.id, h.queue, h.tenant, h.kind, h.priority, h.payload, h.dedup_key, h.headers, h.retry_of,
       h.outcome, h.attempt, h.max_attempts, h.crashes, h.losses,
       h.created_at, null, h.due_at, null, h.runnable_at, h.claimed_at, null,
       h.finished_at, h.worker, h.token, null, null, null, h.result, h.error
from fairlead.job_history h
where fairlead._sees(h.tenant)
  and not exists (select from fairlead.jobs j where j.id = h.id)
  and not exists (
      select from fairlead.job_history later
      where later.id = h.id
        and (later.finished_at, coalesce(later.token, 0)) > (h.finished_at, coalesce(h.token, 0)));
comment on view fairlead.job_status is
    'One row per job: where it is in its life, or how it ended. Ask for it by id.';

-- The lanes with pending rows, by jumping from one to the next in the lane index.
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
select queue, tenant from lane;

create view fairlead.tenant_stats with (security_barrier) as
select l.queue, l.tenant,
       greatest(p.unfinished - coalesce(w.queued + w.running, 0), 0) as pending,
       p.unfinished > 10000 as pending_is_more,
       coalesce(w.queued, 0) as queued, coalesce(w.running, 0) as running,
       p.oldest_pending_at, w.oldest_runnable_at
from fairlead._lanes l
cross join lateral (
    select count(*) as unfinished, min(c.since) as oldest_pending_at from (
        select coalesce(j.due_at, j.created_at) as since from fairlead.jobs j
        where j.queue = l.queue and j.tenant = l.tenant and j.run_at is null limit 10001) c) p
left join lateral (
    select count(*) filter (where q.worker is null) as queued,
           count(*) filter (where q.worker is not null) as running,
           min(q.runnable_at) filter (where q.worker is null) as oldest_runnable_at
    from fairlead.work_queue q where q.queue = l.queue and q.tenant = l.tenant) w on true
where fairlead._sees(l.tenant);
comment on view fairlead.tenant_stats is
    'Tenants with work that is due; pending is counted up to 10,000, then pending_is_more.';

create view fairlead.queue_stats with (security_barrier) as
with waiting as (
    select s.queue, sum(s.pending) as pending, bool_or(s.pending_is_more) as pending_is_more,
           sum(s.queued) as queued, sum(s.running) as running, count(*) as tenants,
           min(s.oldest_pending_at) as oldest_pending_at
    from fairlead.tenant_stats s group by s.queue
), later as (
    select c.queue, count(*) as scheduled, min(c.run_at) as next_run_at from (
        select j.queue, j.run_at from fairlead.jobs j
        where j.run_at is not null and fairlead._sees(j.tenant) order by j.run_at limit 10001) c
    group by c.queue
)
select coalesce(w.queue, l.queue) as queue, coalesce(w.pending, 0)::bigint as pending,
       coalesce(w.pending_is_more, false) as pending_is_more,
       coalesce(w.queued, 0)::bigint as queued, coalesce(w.running, 0)::bigint as running,
       coalesce(l.scheduled, 0) as scheduled, l.next_run_at,
       coalesce(w.tenants, 0) as tenants, w.oldest_pending_at,
       exists (select from fairlead.paused p
               where p.queue = coalesce(w.queue, l.queue) and p.tenant is null) as paused
from waiting w full join later l on l.queue = w.queue;
comment on view fairlead.queue_stats is
    'Queues with unfinished work; scheduled is counted over the next 10,000 jobs to fall due.';

create view fairlead.workers as
select w.id, w.name, w.pool, w.host, w.pod_uid, w.pod_name, w.slots,
       coalesce(q.running, 0) as running, w.version, w.started_at, w.lease_until, w.dead_at,
       case when w.dead_at is not null then 'dead'
            when w.lease_until < now() then 'lapsed'
            else 'live' end as state
from fairlead.worker_leases w
left join (
    select worker, count(*) as running from fairlead.work_queue where worker is not null
    group by worker) q on q.worker = w.id;
comment on view fairlead.workers is 'Worker processes, their leases and what they run.';
