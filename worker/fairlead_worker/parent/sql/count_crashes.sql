-- count_crashes: count the death of a process against jobs that ran in it and are not suspected of it. The next
--                statement hands them back. Jobs whose tokens no longer hold are left alone.
-- locks: jobs rows by id (skip locked).
-- index: jobs_pkey, work_queue_pkey
update fairlead.jobs j
set crashes = j.crashes + 1
where j.id = any (array(
    select l.id from fairlead.jobs l
    where l.id = any (%(ids)s::bigint[])
      and (select q.token from fairlead.work_queue q where q.job_id = l.id)
          = any (%(tokens)s::bigint[])
    order by l.id for update skip locked))
returning j.id
