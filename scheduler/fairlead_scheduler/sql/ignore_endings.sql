-- ignore_endings: have no ending notify us any more.
-- locks: none; gives back the advisory lock of heed_endings.sql.
-- index: none.
select pg_advisory_unlock(7165163640219131512)
