-- keep_deadlines: move the deadlines of suspect attempts that wait for a quarantine process to their whole time
--                 from now, and to a lease at least: their worker lives and has no process for them yet.
--                 Until begin_in_quarantine they do not count as alone, or losing the worker would count as a
--                 death in quarantine for all that wait.
-- locks: work_queue rows by job id (skip locked).
-- index: work_queue_pkey
update fairlead.work_queue q
set alone = false, deadline = greatest(
    q.deadline, fairlead._deadline(greatest(q.timeout, interval '1 second' * %(lease_seconds)s)))
where q.ctid = any (array(
    select w.ctid from fairlead.work_queue w
    where w.job_id = any (%(ids)s::bigint[]) and w.token = any (%(tokens)s::bigint[])
    order by w.job_id for update skip locked))
returning q.token
