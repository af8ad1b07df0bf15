-- finish_free: of a batch that somebody else holds a part of, lock the rest for finish.sql in the same
--              transaction. Answers each token that holds, and whether its job is locked for us; what
--              is not is to be asked for again.
-- locks: work_queue rows, then jobs rows (both skip locked).
-- index: work_queue_pkey, jobs_pkey, inside the function.
select f.token, f.free from fairlead._lock_free(%(ids)s::bigint[], %(tokens)s::bigint[]) f
