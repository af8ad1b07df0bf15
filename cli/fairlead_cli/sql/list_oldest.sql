-- list_oldest: the jobs that wait longest and pass the filters: of each stream (queue, tenant, rank) the next
--              one, and what is queued; with since when each waits, the database's clock, and whether there are more streams
--              than the 1,000 that are looked at beside those of the 2,000 oldest unfinished jobs.
-- locks: none
-- index: jobs_lane, jobs_pkey, work_queue_pkey; work_queue is shallow and read whole.
with recursive stream as (
    (select j.queue, j.tenant, j.rank from fairlead.jobs j
     where j.run_at is null and j.queue >= coalesce(%(queue)s::text, '')
     order by j.queue, j.tenant, j.rank limit 1)
    union all
    -- To the next one; with a tenant, to its first in this queue, or else to the next queue.
    select n.queue, n.tenant, n.rank from stream s cross join lateral (
        select j.queue, j.tenant, j.rank from fairlead.jobs j
        where j.run_at is null and (j.queue, j.tenant, j.rank) > (
            case when s.tenant > %(tenant)s::text then s.queue || chr(1) else s.queue end,
            case when s.tenant > %(tenant)s then '' else greatest(s.tenant, %(tenant)s) end,
            case when s.tenant <> %(tenant)s then -32768 else s.rank end)
        order by j.queue, j.tenant, j.rank limit 1) n
    where s.queue = coalesce(%(queue)s::text, s.queue)
), looked as materialized (
    select s.queue, s.tenant, s.rank from stream s where %(state)s::text is distinct from 'queued' limit 1001
), aged as materialized (
    select j.queue, j.tenant, j.rank from (
        select j.queue, j.tenant, j.rank, j.run_at from fairlead.jobs j
        where (select count(*) from looked) > 1000 order by j.id limit 2000) j
    where j.run_at is null
), waiting as (
    select s.queue, s.tenant, h.id, h.since, 'pending' as state
    from (
        select l.queue, l.tenant, l.rank from looked l
        union
        select a.queue, a.tenant, a.rank from aged a) s
    cross join lateral (
        select j.id, coalesce(j.due_at, j.created_at) as since from fairlead.jobs j
        where j.queue = s.queue and j.tenant = s.tenant and j.rank = s.rank and j.run_at is null
          and not exists (
              select from fairlead.work_queue q where q.job_id = j.id offset 0)
        order by j.seq limit 1) h
    where s.tenant = coalesce(%(tenant)s, s.tenant)
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
       o.since as waits_since, clock_timestamp() as now, (select count(*) from looked) > 1000 as is_cut
from oldest o
cross join lateral (select * from fairlead.job_status s where s.id = o.id offset 0) s
order by o.since, o.id
