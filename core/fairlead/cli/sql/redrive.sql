-- redrive: retry up to %(limit)s failed jobs; answers how many new jobs there are.
-- locks: none of others' rows.
-- index: jobs_retry_of, job_history_retry_of, inside the function.
select fairlead.redrive(
    %(queue)s::text, %(tenant)s::text, %(kind)s::text,
    coalesce(now() - %(within)s::interval, '-infinity'), %(limit)s::integer) as made
