-- count_queues: how many unfinished jobs queues have that are due, over all tenants, each counted up to a
--               number of its own.
-- locks: none.
-- index: jobs_lane
select q.place, c.jobs
from unnest(%(queues)s::text[], %(most)s::bigint[]) with ordinality as q (queue, most, place)
cross join lateral (
    select count(*) as jobs from (
        select 1 from fairlead.jobs j where j.run_at is null and j.queue = q.queue
        order by j.tenant desc, j.rank desc, j.seq desc limit q.most) u) c
