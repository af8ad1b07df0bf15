-- count_lanes: how many unfinished jobs tenants of queues have that are due, each counted up to a number of
--              its own. The newest come first: what the index keeps of jobs that have ended is at the other end.
-- locks: none.
-- index: jobs_lane
select l.place, c.jobs
from unnest(%(queues)s::text[], %(tenants)s::text[], %(most)s::bigint[])
    with ordinality as l (queue, tenant, most, place)
cross join lateral (
    select count(*) as jobs from (
        select 1 from fairlead.jobs j
        where j.run_at is null and j.queue = l.queue and j.tenant = l.tenant
        order by j.rank desc, j.seq desc limit l.most) u) c
