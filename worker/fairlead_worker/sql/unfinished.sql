-- unfinished: is anything pending, queued or running, or a retry to come? What was scheduled for
--             later and has not been tried yet does not count.
-- locks: nothing.
-- index: jobs_lane; jobs_due, whose rows it reads until one has been tried.
select exists (select from fairlead.jobs j where j.run_at is null)
    or exists (
        select from fairlead.jobs j
        where j.run_at is not null and (j.attempts > 0 or j.run_at <= now())
        order by j.run_at)
