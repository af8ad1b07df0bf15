-- slots: who had a slot and when, and since when the job had waited, in seconds since the run began; of jobs
--        that ended after %(since)s. From the start of the handler: a claimed job may wait for a slot.
-- locks: none
-- index: job_history's index on id
select m.package, extract(epoch from h.created_at - %(began)s)::float8,
       extract(epoch from m.began_at - %(began)s)::float8,
       extract(epoch from m.ended_at - %(began)s)::float8
from demo.measurements m cross join lateral (
    select h.created_at from fairlead.job_history h where h.id = m.job_id limit 1) h
where m.ended_at > %(since)s order by m.ended_at
