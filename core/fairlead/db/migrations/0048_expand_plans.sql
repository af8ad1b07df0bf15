-- What applications call finds its rows by an index, whatever their sessions set.
--
-- A step of cancel_jobs looks at the first 10,000 jobs behind an id. Without statistics, such as those of a table that
-- was empty a moment ago, it read the whole backlog by a bitmap and sorted it, in each step and by the defaults.
alter function fairlead._cancel_jobs(text, text, text, bigint, integer)
    set enable_bitmapscan = off set enable_indexscan = on set enable_tidscan = on;

-- They delete rows of work_queue by their places, and read all of it where a session does without.
alter function fairlead.cancel(bigint) set enable_tidscan = on;
alter function fairlead.complete(bigint, bigint, jsonb) set enable_tidscan = on;
alter function fairlead._release(bigint[], bigint[], bigint[]) set enable_tidscan = on;

-- Whose a schedule is, is asked for each one, and each question was compiled: 10 s for 40 schedules in a session with
-- `jit_above_cost = 0`.
alter function fairlead.remove_schedules(text, text)
    set enable_seqscan = off set enable_indexscan = on set jit = off;
