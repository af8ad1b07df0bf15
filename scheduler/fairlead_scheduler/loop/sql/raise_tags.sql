-- raise_tags: raise the tags of unclaimed rows by %(by)s, in one statement that does nothing under another
--             leader's epoch. Returns the ids of those that it raised; a missing one is being claimed, locked
--             or gone. The next dispatch raises the floor; until then claims start further ahead than they need.
-- locks: the leader's row (for key share), then work_queue rows by id (skip locked).
-- index: leaders_pkey, work_queue_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
), held as materialized (
    select q.job_id from fairlead.work_queue q
    where q.job_id = any (%(ids)s::bigint[]) and q.worker is null and exists (select from lead)
    order by q.job_id
    for update skip locked
)
update fairlead.work_queue q
set vtag = least(q.vtag, %(largest)s::bigint - %(by)s::bigint) + %(by)s::bigint
where q.job_id = any (array(select h.job_id from held h))
returning q.job_id
