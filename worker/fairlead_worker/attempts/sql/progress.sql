-- progress: store the latest progress of running attempts; a stale token changes nothing.
-- locks: job_progress rows by job id.
-- index: work_queue_pkey, job_progress_pkey, inside the function.
select fairlead.store_progress(
    %(ids)s::bigint[], %(tokens)s::bigint[], %(fractions)s::real[], %(notes)s::text[])
