-- stop_listening_for_endings: have no ending notify the scheduler any more.
-- locks: none; releases the advisory lock of listen_for_endings.sql.
-- index: none.
select pg_advisory_unlock(7165163640219131512)
