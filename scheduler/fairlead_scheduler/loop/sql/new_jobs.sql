-- new_jobs: whether there is a job above the last id that was read. An idle leader asks this ten times a
--           second, and reads everything once a second.
-- locks: none.
-- index: jobs_pkey
select exists (select from fairlead.jobs j where j.id > %(last_id)s order by j.id limit 1) as newer
