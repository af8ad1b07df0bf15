-- limited_kinds: which rows of work_queue are of a kind whose number in flight is limited in their pool, with the kind
--                and the pool. Read at a take-over, and when a limit is new; of a job that is completed and holds its slot it is in
--                the history.
-- locks: none.
-- index: work_queue_pkey, jobs_pkey, job_history_id
select q.job_id, k.kind, q.pool
from (select * from fairlead.work_queue w where w.job_id > 0 order by w.job_id) q
cross join lateral (
    select j.kind from fairlead.jobs j where j.id = q.job_id
    union all
    select h.kind from fairlead.job_history h where q.completed and h.id = q.job_id and h.token = q.token
    limit 1) k
where (q.pool, k.kind) in (
    select l.pool, l.kind from unnest(%(pools)s::text[], %(kinds)s::text[]) as l (pool, kind))
