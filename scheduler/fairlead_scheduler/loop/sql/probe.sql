-- probe: which ids of these ranges, both ends included, exist now and are not in work_queue; with their
--        queue, tenant and rank. At most %(limit)s: there may be more.
-- locks: none.
-- index: jobs_pkey, work_queue_pkey
select j.id, j.seq, j.queue, j.tenant, j.rank,
       fairlead._span_us(j.cost_hint) as hint_us,
       fairlead._epoch_us(j.run_at) as run_at_us
from unnest(%(lows)s::bigint[], %(highs)s::bigint[]) as r (low, high)
cross join lateral (
    select * from fairlead.jobs j where j.id >= r.low and j.id <= r.high
    order by j.id offset 0) j
where not exists (select from fairlead.work_queue q where q.job_id = j.id offset 0)
limit %(limit)s
