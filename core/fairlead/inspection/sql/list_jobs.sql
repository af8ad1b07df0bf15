-- list_jobs: the newest jobs that pass the filters and that the login may see. Where some were not looked at, a last row
--            without an id says so in left_out, and in go_on_before with which before_id to go on.
-- locks: none
-- index: see fairlead._list_jobs.
select l.id, l.state, l.queue, l.tenant, l.kind, l.attempt, l.max_attempts, l.priority, l.created_at,
       l.run_at, l.runnable_at, l.claimed_at, l.finished_at, l.progress, l.error,
       clock_timestamp() as now, l.left_out, l.go_on_before
from fairlead._list_jobs(
    %(queue)s::text, %(tenant)s::text, %(kind)s::text, %(state)s::text, %(limit)s::integer,
    %(since)s::timestamptz, %(until)s::timestamptz, %(before)s::bigint) l
