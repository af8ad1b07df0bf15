-- glance: is there a job behind the last one that was read? A leader at rest asks this ten times a
--         second, and looks whole once.
-- locks: none.
-- index: jobs_pkey
select exists (select from fairlead.jobs j where j.id > %(last_id)s order by j.id limit 1) as newer
