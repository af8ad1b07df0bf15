-- listen_for_endings: have every ending notify the scheduler; false if a session holds this lock already.
-- locks: the advisory lock that says that the scheduler waits for an ending.
-- index: none.
select pg_try_advisory_lock(7165163640219131512)
