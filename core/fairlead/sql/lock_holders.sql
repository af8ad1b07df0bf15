-- lock_holders: the sessions with a lock on a table of Fairlead whose transaction has lasted for more than
--               %(seconds)s, the oldest first, three at most; a login without the right to see when others
--               began sees all that hold a lock. A prepared transaction has no session.
-- locks: none.
-- index: none; these are views of the server's memory.
select a.pid, coalesce(nullif(a.application_name, ''), a.backend_type, 'unknown') as program
from pg_catalog.pg_stat_activity a
where a.datname = current_database() and a.pid <> pg_backend_pid()
  and coalesce(a.xact_start < clock_timestamp() - make_interval(secs => %(seconds)s), true)
  and exists (
      select from pg_catalog.pg_locks l join pg_catalog.pg_class c on c.oid = l.relation
      where l.pid = a.pid and l.granted and l.database = a.datid
        and c.relnamespace = to_regnamespace('fairlead'))
order by a.xact_start nulls last, a.pid
limit 3
