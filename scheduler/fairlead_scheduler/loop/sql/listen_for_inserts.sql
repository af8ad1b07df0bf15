-- listen_for_inserts: have every INSERT into jobs notify the scheduler; false if a session holds this lock
--                     already.
-- locks: the advisory lock that says that the scheduler rests.
-- index: none.
select pg_try_advisory_lock(7165163640219131510)
