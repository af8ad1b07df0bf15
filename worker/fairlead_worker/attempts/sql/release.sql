-- release: free the slots of attempts whose jobs are gone: completed by their handlers, or deleted. Returns the
--          tokens that it released; the others hold nothing, still have a job, or are locked. A repeat
--          releases nothing.
-- locks: work_queue rows by job id (skip locked).
-- index: work_queue_pkey, inside the function; jobs by their key, in _release.
select r.token from fairlead.release(%(ids)s::bigint[], %(tokens)s::bigint[], %(run_us)s::bigint[]) as r (token)
