-- forget_progress: delete the progress of attempts that are over: of %(limit)s rows above
--                  %(after_id)s. Answers the last id that it looked at, and null at the end.
-- locks: the leader's row (for share), job_progress rows by id (skip locked).
-- index: job_progress_pkey, work_queue_pkey, leaders_pkey
with lead as materialized (
    select l.epoch from fairlead.leaders l
    where l.role = 'scheduler' and l.epoch = %(epoch)s for share
), looked as materialized (
    select p.job_id from fairlead.job_progress p
    where p.job_id > %(after_id)s and exists (select from lead)
    order by p.job_id limit %(limit)s
), gone as (
    delete from fairlead.job_progress p
    where p.job_id = any (array(
        select o.job_id from fairlead.job_progress o
        where o.job_id = any (array(select l.job_id from looked l))
          and not exists (
              select from fairlead.work_queue q where q.job_id = o.job_id and q.token = o.token
              offset 0)
        for update skip locked))
)
select max(l.job_id) from looked l having count(*) >= %(limit)s
