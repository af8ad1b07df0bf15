-- unfinished: is anything pending, queued or running, or due again after an attempt? What the application
--             scheduled for later and has not fallen due yet does not count.
-- locks: nothing.
-- index: jobs_lane; jobs_due, whose rows it reads until one has been due.
select exists (select from fairlead.jobs j where j.run_at is null)
    or exists (
        select from fairlead.jobs j
        where j.run_at is not null and (j.due_at is not null or j.run_at <= now())
        order by j.run_at)
