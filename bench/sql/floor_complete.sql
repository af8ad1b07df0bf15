-- floor_complete: end the jobs whose token still holds and keep their history.
-- locks: floor_work_queue, then floor_jobs, both by primary key.
-- index: floor_work_queue_pkey, floor_jobs_pkey
with given as materialized (
    select id, token from unnest(%(ids)s::bigint[], %(tokens)s::bigint[]) as given (id, token)
), released as (
    delete from floor_work_queue as w
    where w.job_id = any (%(ids)s::bigint[])
      and (w.job_id, w.token) in (select id, token from given)
    returning w.job_id, w.token, w.claimed_at
), gone as (
    delete from floor_jobs as j
    where j.id = any (array(select job_id from released))
    returning j.id, j.queue, j.tenant, j.kind, j.payload
)
insert into floor_history
select gone.id, released.token, 'succeeded', gone.queue, gone.tenant, gone.kind, gone.payload,
       released.claimed_at, now()
from gone join released on released.job_id = gone.id
