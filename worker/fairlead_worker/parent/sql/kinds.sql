-- kinds: the queue and kind of jobs. Asked for attempts that were handed back a moment ago, so a job is
--        unfinished, or was finished since.
-- locks: none.
-- index: jobs_pkey, job_history_id on the partitions of the last days
select j.id, j.queue, j.kind from fairlead.jobs j where j.id = any (%(ids)s::bigint[])
union all
select h.id, h.queue, h.kind from fairlead.job_history h
where h.id = any (%(ids)s::bigint[]) and h.finished_at > now() - interval '1 day'
