-- finish: finish the jobs of a batch of attempts: out of work_queue and jobs, into the history. Returns the
--         tokens that held; one that is missing was stale (or its ending was stored before a lost
--         connection: finished.sql reads it). Fails (55P03) when another transaction has one of the rows
--         locked for 200 ms, or for the session's own lock_timeout if it has one: then use finish_free.sql.
-- locks: work_queue rows, then jobs rows, by job id where the session keeps to index scans. Finishing is
--        the only operation that takes work_queue first.
-- index: work_queue_pkey, jobs_pkey, inside the function.
select f.token
from fairlead.finish(
    %(ids)s::bigint[], %(tokens)s::bigint[], %(outcomes)s::text[], %(results)s::text[], %(errors)s::text[],
    %(run_us)s::bigint[]) as f (token)
