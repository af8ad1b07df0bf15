-- running: what runs in the workers of these names on this host: the number of jobs of each kind, and since when.
-- locks: none
-- index: none, there are few rows with a worker
select j.kind, count(*), max(extract(epoch from now() - q.claimed_at))
from fairlead.work_queue q
join fairlead.worker_leases w on w.id = q.worker
join fairlead.jobs j on j.id = q.job_id
where w.name = any(%(names)s) and w.host = %(host)s and w.dead_at is null
group by j.kind order by 2 desc, 1
