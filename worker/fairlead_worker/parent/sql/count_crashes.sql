-- count_crashes: count the death of a process against jobs that ran in it and are not suspected of it. The next
--                statement hands them back. Jobs whose tokens no longer hold are left alone.
-- locks: jobs rows by id (skip locked).
-- index: jobs_pkey, work_queue_pkey, inside the function.
select fairlead._count_crashes(%(ids)s::bigint[], %(tokens)s::bigint[])
