-- hand_back: put up to %(limit)s jobs of a dead worker, from one id on, back into the queue, unpunished.
-- locks: the jobs rows by id (skip locked), then their work_queue rows.
-- index: none of work_queue: it is shallow and read whole.
select r.job_id, r.became from fairlead._release_jobs(%(id)s, %(after)s, %(limit)s) r
