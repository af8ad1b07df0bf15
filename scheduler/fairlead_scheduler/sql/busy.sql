-- busy: have no INSERT into jobs notify us any more.
-- locks: none; gives back the advisory lock of rest.sql.
-- index: none.
select pg_advisory_unlock(7165163640219131510)
