-- unfinished: is anything pending, queued or running, or due again after an attempt? What the application
--             scheduled for later and has not fallen due yet does not count.
-- locks: nothing.
-- index: jobs_lane; jobs_due, whose rows it reads until one has been due, inside the function.
select fairlead._unfinished()
