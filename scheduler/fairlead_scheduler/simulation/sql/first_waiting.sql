-- first_waiting: the first %(limit)s pending, undispatched jobs of each of these streams (queue, tenant,
--                rank), with the stream's position in the input.
-- locks: none.
-- index: jobs_lane, work_queue_pkey
select s.place::integer as place, array_agg(w.id order by w.seq) as ids
from unnest(%(queues)s::text[], %(tenants)s::text[], %(ranks)s::smallint[])
    with ordinality as s (queue, tenant, rank, place)
cross join lateral (
    select j.id, j.seq from fairlead.jobs j
    where j.run_at is null and j.queue = s.queue and j.tenant = s.tenant and j.rank = s.rank
      and not exists (select from fairlead.work_queue q where q.job_id = j.id offset 0)
    order by j.seq limit %(limit)s
) w
group by s.place
