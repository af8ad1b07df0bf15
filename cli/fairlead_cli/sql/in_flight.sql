-- in_flight: how many unfinished jobs of a tenant workers hold.
-- locks: none
-- index: none; work_queue is shallow and read whole.
select count(*) as jobs from fairlead.work_queue q
where q.tenant = %(tenant)s and q.worker is not null and not q.completed
