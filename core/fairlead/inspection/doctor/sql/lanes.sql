-- lanes: tenants of queues that have jobs which are due, by jumping in the lane index.
-- locks: none
-- index: jobs_lane
with recursive lane as (
    (select j.queue, j.tenant from fairlead.jobs j where j.run_at is null
     order by j.queue, j.tenant, j.rank, j.seq limit 1)
    union all
    select n.queue, n.tenant from lane l cross join lateral (
        select j.queue, j.tenant from fairlead.jobs j
        where j.run_at is null and (j.queue, j.tenant) > (l.queue, l.tenant)
        order by j.queue, j.tenant, j.rank, j.seq limit 1) n
)
select l.queue, l.tenant from lane l limit 10000
