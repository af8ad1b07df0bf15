-- leased: the attempts that are leased to some workers, claimed no later than an instant of the database's
--         clock (null: any).
-- locks: nothing.
-- index: work_queue_pkey, whole: the queue is shallow, and this is asked after a death only.
select q.job_id, q.token from fairlead.work_queue q
where q.worker = any (%(workers)s::bigint[])
  and q.claimed_at <= coalesce(%(claimed_until)s::timestamptz, 'infinity')
order by q.job_id
