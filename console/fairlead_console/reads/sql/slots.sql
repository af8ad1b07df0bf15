-- slots: who has the slots of a pool, those with most first; null is of every pool.
-- locks: none
-- index: none of work_queue: it is shallow and read whole.
select q.tenant, count(*) as running
from fairlead.work_queue q
where q.worker is not null and (%(pool)s::text is null or q.pool = %(pool)s)
group by q.tenant order by count(*) desc, q.tenant limit %(limit)s
