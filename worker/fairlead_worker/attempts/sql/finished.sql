-- finished: which of these attempts have an ending on record? Asked when finish or hand_back returns a token
--           as stale: the ending may be our own, stored before a lost connection or in the handler's
--           transaction. Lost attempts are on record too, but were ended by the leader or another worker.
-- locks: none.
-- index: job_history_id on the partitions of the last days, attempt_errors_job, inside the function.
select e.token from fairlead._ended(%(ids)s::bigint[], %(tokens)s::bigint[]) as e (token)
