-- rest: have every INSERT into jobs notify us; false when somebody holds this already.
-- locks: the advisory lock that says that the scheduler sleeps.
-- index: none.
select pg_try_advisory_lock(7165163640219131510)
