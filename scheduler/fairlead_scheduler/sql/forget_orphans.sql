-- forget_orphans: delete unclaimed rows of work_queue whose job is gone: of %(limit)s rows above
--                 %(after_id)s. Answers the last id that it looked at, and null at the end.
-- locks: the leader's row (for share), work_queue rows by id (skip locked).
-- index: work_queue_pkey, jobs_pkey, leaders_pkey
with lead as materialized (
    select l.epoch from fairlead.leaders l
    where l.role = 'scheduler' and l.epoch = %(epoch)s for share
), looked as materialized (
    select q.job_id from fairlead.work_queue q
    where q.job_id > %(after_id)s and exists (select from lead)
    order by q.job_id limit %(limit)s
), gone as (
    delete from fairlead.work_queue q
    where q.job_id = any (array(
        select o.job_id from fairlead.work_queue o
        where o.job_id = any (array(select l.job_id from looked l)) and o.worker is null
          and not exists (select from fairlead.jobs j where j.id = o.job_id offset 0)
        for update skip locked))
)
select max(l.job_id) from looked l having count(*) >= %(limit)s
