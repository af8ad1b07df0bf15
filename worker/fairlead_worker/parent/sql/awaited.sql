-- awaited: which queues have something unfinished that is not scheduled for later, at most ten of them, and
--          which of those, or tenants of theirs, are paused? Asked by a worker that runs until empty, has
--          nothing to do, and logs what it waits for.
-- locks: none.
-- index: jobs_lane, paused_once
with recursive queue as (
    (select j.queue from fairlead.jobs j where j.run_at is null order by j.queue limit 1)
    union all
    select n.queue from queue q cross join lateral (
        select j.queue from fairlead.jobs j
        where j.run_at is null and j.queue > q.queue order by j.queue limit 1) n
)
select q.queue, exists (select from fairlead.paused p where p.queue = q.queue) as paused
from queue q limit 10
