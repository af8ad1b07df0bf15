-- stop_listening_for_inserts: have no INSERT into jobs notify the scheduler any more.
-- locks: none; releases the advisory lock of listen_for_inserts.sql.
-- index: none.
select pg_advisory_unlock(7165163640219131510)
