-- count_scheduled: how many scheduled jobs each lane has.
-- locks: none.
-- index: jobs_due, read whole and alone: it has the lanes.
select j.queue, j.tenant, count(*) as jobs
from fairlead.jobs j where j.run_at is not null group by j.queue, j.tenant
