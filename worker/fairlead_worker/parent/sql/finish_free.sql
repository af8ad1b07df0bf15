-- finish_free: finish those jobs of attempts that succeeded without a result, in a child that is dead, which no
--              other transaction has locked. Waits for none. Returns each token that holds, and whether
--              its job is finished now; the others are to be tried again.
-- locks: work_queue rows, then jobs rows (both skip locked), in the first function for the second one.
-- index: work_queue_pkey, jobs_pkey, inside the functions.
with free as materialized (
    select f.token, f.free
    from fairlead._lock_free(%(ids)s::bigint[], %(tokens)s::bigint[]) f
), held as materialized (
    select e.job_id, e.token, e.run_us
    from unnest(%(ids)s::bigint[], %(tokens)s::bigint[], %(run_us)s::bigint[]) as e (job_id, token, run_us)
    join free f on f.token = e.token and f.free
), ours as materialized (
    select coalesce(array_agg(h.job_id order by h.job_id), '{}') as ids,
           coalesce(array_agg(h.token order by h.job_id), '{}') as tokens,
           coalesce(array_agg(h.run_us order by h.job_id), '{}') as run_us
    from held h
), finished as materialized (
    select f.token
    from ours o cross join lateral fairlead.finish(o.ids, o.tokens, run_us => o.run_us) as f (token)
)
select f.token, f.free and f.token in (select d.token from finished d) from free f
