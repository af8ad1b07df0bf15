-- postpone: let a waiting job wait from the instant that a drain has reached, and not from now.
-- locks: the jobs row.
-- index: jobs_pkey
update fairlead.jobs j set run_at = j.run_at + make_interval(secs => %(seconds)s)
where j.id = %(job_id)s and j.run_at is not null
