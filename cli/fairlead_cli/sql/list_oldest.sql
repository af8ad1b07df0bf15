-- list_oldest: the jobs that wait longest and pass the filters: of each stream (queue, tenant, rank) the next
--              one, and what is queued; with since when each waits, and the database's clock.
-- locks: none
-- index: jobs_lane, jobs_pkey, work_queue_pkey; work_queue is shallow and read whole.
with recursive stream as (
    (select j.queue, j.tenant, j.rank from fairlead.jobs j
     where j.run_at is null and j.queue >= coalesce(%(queue)s::text, '')
     order by j.queue, j.tenant, j.rank limit 1)
    union all
    select n.queue, n.tenant, n.rank from stream s cross join lateral (
        select j.queue, j.tenant, j.rank from fairlead.jobs j
        where j.run_at is null and (j.queue, j.tenant, j.rank) > (s.queue, s.tenant, s.rank)
        order by j.queue, j.tenant, j.rank limit 1) n
    where s.queue = coalesce(%(queue)s::text, s.queue)
), waiting as (
    select s.queue, s.tenant, h.id, h.since, 'pending' as state
    from stream s cross join lateral (
        select j.id, coalesce(j.due_at, j.created_at) as since from fairlead.jobs j
        where j.queue = s.queue and j.tenant = s.tenant and j.rank = s.rank and j.run_at is null
          and not exists (
              select from fairlead.work_queue q where q.job_id = j.id offset 0)
        order by j.seq limit 1) h
    union all
    select q.queue, q.tenant, q.job_id, q.runnable_at, 'queued'
    from fairlead.work_queue q
    cross join lateral (
        select from fairlead.jobs j where j.id = q.job_id offset 0) j
    where q.worker is null
), oldest as (
    select w.id, w.since from waiting w
    where (%(queue)s::text is null or w.queue = %(queue)s)
      and (%(tenant)s::text is null or w.tenant = %(tenant)s)
      and (%(state)s::text is null or w.state = %(state)s)
    order by w.since, w.id limit %(limit)s
)
select s.id, s.state, s.queue, s.tenant, s.kind, s.attempt, s.max_attempts, s.priority, s.created_at,
       s.run_at, s.runnable_at, s.claimed_at, s.finished_at, s.progress, s.error,
       o.since as waits_since, clock_timestamp() as now
from oldest o
cross join lateral (select * from fairlead.job_status s where s.id = o.id offset 0) s
order by o.since, o.id
