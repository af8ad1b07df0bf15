-- heed_endings: have every ending notify us; false when somebody holds this already.
-- locks: the advisory lock that says that the scheduler waits for an ending.
-- index: none.
select pg_try_advisory_lock(7165163640219131512)
