-- count_scheduled: how many scheduled jobs each lane has. They are sorted to be counted, as a distinct count wants: to
--                  find one of ten thousand names of one hash in a table of hashes takes long, and a login can choose
--                  such names.
-- locks: none.
-- index: jobs_due, read whole and alone: it has the lanes.
with due as materialized (
    select j.queue, j.tenant from fairlead.jobs j where j.run_at is not null
)
select d.queue, d.tenant, count(*) as jobs
from due d group by d.queue, d.tenant having count(distinct 1) > 0
