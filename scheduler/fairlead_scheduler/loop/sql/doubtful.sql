-- doubtful: which of these ids exist and are not in work_queue, with their queue, tenant and rank, which of
--           them a dispatch could not take now, because somebody has locked them, and the kind of those whose
--           kind is limited.
-- locks: jobs rows (for key share, skip locked), as a dispatch does. It is sent by itself, and so keeps them
--        for no longer than it takes, whatever becomes of the process that sent it.
-- index: jobs_pkey, work_queue_pkey
select k.id, k.seq, k.queue, k.tenant, k.rank,
       fairlead._span_us(k.cost_hint) as hint_us,
       fairlead._epoch_us(k.run_at) as run_at_us,
       f.id is null as locked,
       case when k.kind = any (%(kinds)s::text[]) then k.kind end as kind
from unnest(%(ids)s::bigint[]) as d (id)
cross join lateral (
    select * from fairlead.jobs j where j.id = d.id order by j.id offset 0) k
left join lateral (
    select j.id from fairlead.jobs j where j.id = k.id order by j.id
    for key share skip locked) f on true
where not exists (select from fairlead.work_queue q where q.job_id = k.id offset 0)
