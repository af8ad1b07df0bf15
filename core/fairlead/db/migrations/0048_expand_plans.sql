-- What applications call finds its rows by an index, whatever their sessions set.

-- They delete rows of work_queue by their places, and read all of it where a session does without.
alter function fairlead.cancel(bigint) set enable_tidscan = on;
alter function fairlead._release(bigint[], bigint[], bigint[]) set enable_tidscan = on;

-- Whose a schedule is, is asked for each one, and each question was compiled: 10 s for 40 schedules in a session with
-- `jit_above_cost = 0`.
alter function fairlead.remove_schedules(text, text)
    set enable_seqscan = off set enable_indexscan = on set jit = off;
