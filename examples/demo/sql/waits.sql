-- waits: every job's class, tenant, wait and end in seconds since the run began, for the plot.
-- locks: none
-- index: none, the demo's history is small
select h.kind, h.tenant, extract(epoch from h.claimed_at - h.runnable_at)::float8,
       extract(epoch from h.finished_at - %(began)s)::float8
from fairlead.job_history h where h.claimed_at is not null order by h.finished_at
