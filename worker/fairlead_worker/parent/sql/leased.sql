-- leased: the attempts that are leased to some workers, claimed no later than an instant of the database's
--         clock (null: any).
-- locks: nothing.
-- index: work_queue_pkey, whole: the queue is shallow, and this is asked after a death only, inside the function.
select l.job_id, l.token
from fairlead._leased(%(workers)s::bigint[], %(claimed_until)s::timestamptz) l
