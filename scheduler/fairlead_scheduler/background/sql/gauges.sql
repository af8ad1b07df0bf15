-- gauges: how many jobs of each queue are pending, queued, running and scheduled, each counted up to 10,000;
--         how many of the scheduled ones fall due within a minute, ten minutes and an hour; and since when
--         the oldest unclaimed one has been runnable. What is grouped is sorted for that, as a distinct count
--         wants: in a table of hashes it takes minutes to find one of ten thousand names of one hash, which a
--         login can choose.
-- locks: none.
-- index: jobs_lane, jobs_due, work_queue_pkey
with recursive queue as (
    (select j.queue from fairlead.jobs j where j.run_at is null order by j.queue limit 1)
    union all
    select n.queue from queue q cross join lateral (
        select j.queue from fairlead.jobs j
        where j.run_at is null and j.queue > q.queue order by j.queue limit 1) n
), unfinished as (
    select q.queue, c.jobs from queue q cross join lateral (
        select count(*) as jobs from (
            select 1 from fairlead.jobs j
            where j.run_at is null and j.queue = q.queue
              and not exists (
                  select from fairlead.work_queue w where w.job_id = j.id offset 0)
            limit 10000) j) c
), flight as materialized (
    select w.queue, w.worker, w.runnable_at from fairlead.work_queue w where w.job_id > 0
), dispatched as (
    select w.queue, count(*) filter (where w.worker is null) as queued,
           count(*) filter (where w.worker is not null) as running,
           min(w.runnable_at) filter (where w.worker is null) as oldest_at
    from flight w group by w.queue having count(distinct 1) > 0
), due as materialized (
    select j.queue, j.run_at from fairlead.jobs j where j.run_at is not null
    order by j.run_at limit 10000
), later as (
    select l.queue, count(*) as scheduled,
           count(*) filter (where l.run_at <= now() + interval '1 minute') as in_minute,
           count(*) filter (where l.run_at <= now() + interval '10 minutes') as in_ten,
           count(*) filter (where l.run_at <= now() + interval '1 hour') as in_hour
    from due l group by l.queue having count(distinct 1) > 0
), measured as materialized (
    select u.queue, u.jobs as pending, 0 as queued, 0 as running, 0 as scheduled,
           0 as in_minute, 0 as in_ten, 0 as in_hour, null::timestamptz as oldest_at
    from unfinished u
    union all
    select d.queue, 0, d.queued, d.running, 0, 0, 0, 0, d.oldest_at from dispatched d
    union all
    select l.queue, 0, 0, 0, l.scheduled, l.in_minute, l.in_ten, l.in_hour, null from later l
)
select n.queue, sum(n.pending)::bigint as pending, sum(n.queued)::bigint as queued,
       sum(n.running)::bigint as running, sum(n.scheduled)::bigint as scheduled,
       sum(n.in_minute)::bigint as due_in_minute, sum(n.in_ten)::bigint as due_in_ten,
       sum(n.in_hour)::bigint as due_in_hour,
       fairlead._epoch_us(min(n.oldest_at)) as oldest_us,
       (extract(epoch from now()) * 1e6)::bigint as now_us
from measured n group by n.queue having count(distinct 1) > 0
