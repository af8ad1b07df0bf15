-- checkpoints: store what the jobs of running attempts go on from. Returns for each token: stored; stale, it holds
--              its job no more, and nothing changed; locked, another transaction has the job.
-- locks: jobs rows by id (skip locked).
-- index: work_queue_pkey, jobs_pkey, inside the function.
select c.token, c.became
from fairlead.store_checkpoints(%(ids)s::bigint[], %(tokens)s::bigint[], %(values)s::text[]) c
