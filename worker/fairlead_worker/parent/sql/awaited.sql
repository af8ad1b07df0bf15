-- awaited: which queues have something unfinished that is not scheduled for later, at most ten of them, and
--          which of those, or tenants of theirs, are paused? Asked by a worker that runs until empty, has
--          nothing to do, and logs what it waits for.
-- locks: none.
-- index: jobs_lane, paused_once, inside the function.
select a.queue, a.paused from fairlead._awaited() a
