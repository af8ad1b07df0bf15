-- show_batch: one batch: how its jobs have ended, as far as they are counted, and what it waits for.
-- locks: none
-- index: batches_pkey, batch_jobs_pkey, jobs_pkey
select * from fairlead.batch_status s where s.id = %(id)s
