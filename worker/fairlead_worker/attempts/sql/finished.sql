-- finished: which of these attempts have an ending on record? Asked when finish or hand_back returns a token
--           as stale: the ending may be our own, stored before a lost connection or in the handler's
--           transaction. Lost attempts are on record too, but were ended by the leader or another worker.
-- locks: none.
-- index: job_history_id on the partitions of the last days, attempt_errors_job
select h.token from fairlead.job_history h
where h.id = any (%(ids)s::bigint[]) and h.token = any (%(tokens)s::bigint[])
  and h.finished_at > now() - interval '1 day'
union all
select e.token from fairlead.attempt_errors e
where e.job_id = any (%(ids)s::bigint[]) and e.token = any (%(tokens)s::bigint[])
  and e.ended_as <> 'lost'
