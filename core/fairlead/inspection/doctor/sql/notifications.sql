-- notifications: how full the server's queue of notifications is, and the oldest transaction of a session, in whatever
--                database: who listens, only each session itself is told. Only members of pg_read_all_stats see it.
-- locks: none
-- index: none
select pg_notification_queue_usage() as part,
       o.pid, o.application_name as application, o.usename::text as login, o.datname::text as database, o.state,
       clock_timestamp() - o.xact_start as age
from (values (1)) as always left join lateral (
    select a.pid, a.application_name, a.usename, a.datname, a.state, a.xact_start from pg_stat_activity a
    where a.backend_type in ('client backend', 'walsender') and a.pid <> pg_backend_pid()
      and a.xact_start is not null and pg_has_role('pg_read_all_stats', 'usage')
    order by a.xact_start, a.pid limit 1) o on true
