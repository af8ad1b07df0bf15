-- queues: those with jobs that are due, by jumping from one to the next in the lane index.
-- locks: none
-- index: jobs_lane
with recursive due as (
    (select j.queue from fairlead.jobs j where j.run_at is null
     order by j.queue, j.tenant, j.rank, j.seq limit 1)
    union all
    select n.queue from due d cross join lateral (
        select j.queue from fairlead.jobs j where j.run_at is null and j.queue > d.queue
        order by j.queue, j.tenant, j.rank, j.seq limit 1) n
)
select d.queue from due d limit 1000
