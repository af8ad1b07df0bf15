-- queued: for each pool how many jobs have been queued for a worker, and since when.
-- locks: none
-- index: none: work_queue is shallow, and read whole.
select q.pool, count(*) as jobs, clock_timestamp() - min(q.runnable_at) as age
from fairlead.work_queue q where q.worker is null group by q.pool order by 1 limit 1000
