-- newest_jobs: the newest jobs that the login may see, by id, of a queue, a tenant, a kind and a state.
-- locks: none
-- index: see fairlead._list_jobs.
select j.id, j.state, j.queue, j.tenant, j.kind, j.attempt, j.max_attempts, j.priority, j.created_at,
       j.run_at, j.runnable_at, j.claimed_at, j.finished_at, j.progress, j.error
from fairlead.list_jobs(
    %(queue)s::text, %(tenant)s::text, %(kind)s::text, %(state)s::text, %(rows_max)s::integer) j
