-- count_lanes: how many unfinished jobs tenants of queues have, each counted up to a number of its own. The
--              newest come first: whatever the index keeps of jobs that have ended is at the other end.
-- locks: none.
-- index: jobs_lane, jobs_delayed
select l.place, c.jobs
from unnest(%(queues)s::text[], %(tenants)s::text[], %(most)s::bigint[])
    with ordinality as l (queue, tenant, most, place)
cross join lateral (
    select count(*) as jobs from (
        (select 1 from fairlead.jobs j
         where j.run_at is null and j.queue = l.queue and j.tenant = l.tenant
         order by j.rank desc, j.seq desc limit l.most)
        union all
        (select 1 from fairlead.jobs j
         where j.run_at is not null and j.queue >= '' and j.queue = l.queue and j.tenant = l.tenant
         order by j.seq desc limit l.most)
        limit l.most) u) c
