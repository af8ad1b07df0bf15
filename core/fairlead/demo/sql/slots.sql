-- slots: who held a slot from when to when, and since when the job had waited, in seconds since the run began;
--        of jobs that ended after %(since)s. From the claim on, which is what the leader charges for.
-- locks: none
-- index: job_history's index on id
select m.package, extract(epoch from h.created_at - %(began)s)::float8,
       extract(epoch from h.claimed_at - %(began)s)::float8,
       extract(epoch from m.ended_at - %(began)s)::float8
from demo.measurements m cross join lateral (
    select h.created_at, h.claimed_at from fairlead.job_history h where h.id = m.job_id limit 1) h
where m.ended_at > %(since)s order by m.ended_at
