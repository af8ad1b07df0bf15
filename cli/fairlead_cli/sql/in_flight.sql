-- in_flight: how many unfinished jobs of a tenant workers hold, and how many were asked to stop that no worker has,
--            as after a claim that was rolled back.
-- locks: none
-- index: jobs_pkey; work_queue is shallow and read whole.
select count(*) filter (where q.worker is not null) as held,
       count(*) filter (where q.worker is null and exists (
           select from fairlead.jobs j
           where j.id = q.job_id and j.cancel_requested_at is not null offset 0)) as unclaimed
from fairlead.work_queue q
where q.tenant = %(tenant)s and not q.completed
