-- finish_free: of a batch that another transaction has locked in part, lock the rest for finish.sql in the
--              same transaction. Returns each token that holds, and whether its job is locked for us; the
--              others are to be tried again.
-- locks: work_queue rows, then jobs rows (both skip locked).
-- index: work_queue_pkey, jobs_pkey, inside the function.
select f.token, f.free from fairlead._lock_free(%(ids)s::bigint[], %(tokens)s::bigint[]) f
