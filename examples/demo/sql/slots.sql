-- slots: who held a slot from when to when, and since when the job had waited, in seconds since the run began;
--        of jobs that ended after %(since)s, of those that hold one now, and the first of each tenant that waits.
--        From the claim on, which is what the leader charges for.
-- locks: none
-- index: job_history's index on id
select m.package, extract(epoch from h.created_at - %(began)s)::float8,
       extract(epoch from h.claimed_at - %(began)s)::float8,
       extract(epoch from m.ended_at - %(began)s)::float8
from demo.measurements m cross join lateral (
    select h.created_at, h.claimed_at from fairlead.job_history h where h.id = m.job_id limit 1) h
where m.ended_at > %(since)s
union all
select j.tenant, extract(epoch from j.created_at - %(began)s)::float8,
       extract(epoch from q.claimed_at - %(began)s)::float8, 'infinity'::float8
from fairlead.work_queue q join fairlead.jobs j on j.id = q.job_id
where q.worker is not null and j.kind = 'measure'
union all
select j.tenant, extract(epoch from min(j.created_at) - %(began)s)::float8, 'infinity', 'infinity'
from fairlead.jobs j
where j.kind = 'measure'
  and not exists (select from fairlead.work_queue q where q.job_id = j.id and q.worker is not null)
group by j.tenant
