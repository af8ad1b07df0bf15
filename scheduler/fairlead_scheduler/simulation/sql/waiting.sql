-- waiting: the number of pending jobs of each stream (queue, tenant, rank), and since when its first one
--          waits. Reads up to %(streams_max)s streams, which share %(jobs_max)s jobs to count, at least
--          20 and at most 20,000 each.
-- locks: none.
-- index: jobs_lane, work_queue_pkey
with recursive stream as (
    (select j.queue, j.tenant, j.rank from fairlead.jobs j where j.run_at is null
     order by j.queue, j.tenant, j.rank limit 1)
    union all
    select n.queue, n.tenant, n.rank from stream s cross join lateral (
        select j.queue, j.tenant, j.rank from fairlead.jobs j
        where j.run_at is null and (j.queue, j.tenant, j.rank) > (s.queue, s.tenant, s.rank)
        order by j.queue, j.tenant, j.rank limit 1) n
), known as materialized (
    select s.queue, s.tenant, s.rank from stream s limit %(streams_max)s
), bound as materialized (
    select greatest(20, least(20000, %(jobs_max)s / greatest(1, count(*)))) as jobs from known
)
select k.queue, k.tenant, k.rank::integer as rank, least(c.jobs, b.jobs)::integer as jobs,
       c.jobs > b.jobs as more,
       fairlead._epoch_us(c.since) as oldest_us
from bound b cross join known k cross join lateral (
    select count(*) as jobs, min(w.since) as since from (
        select coalesce(j.due_at, j.created_at) as since from fairlead.jobs j
        where j.run_at is null and j.queue = k.queue and j.tenant = k.tenant and j.rank = k.rank
          and not exists (select from fairlead.work_queue q where q.job_id = j.id offset 0)
        order by j.seq limit b.jobs + 1) w
) c
where c.jobs > 0
