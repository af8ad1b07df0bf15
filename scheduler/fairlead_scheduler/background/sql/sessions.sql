-- sessions: the client sessions of the whole server by program, and how many logins without special rights
--           may open. Without rights the process type of another login's session cannot be seen: a session
--           with a database and a user counts.
-- locks: none.
-- index: none: the server's memory.
select coalesce(substring(a.application_name from '^fairlead (scheduler|worker|autoscaler)\M'), 'other')
           as program,
       count(*) as sessions,
       (current_setting('max_connections')::integer
        - current_setting('superuser_reserved_connections')::integer
        - coalesce(current_setting('reserved_connections', true)::integer, 0)) as most
from pg_stat_activity a
where a.datid is not null and a.usesysid is not null
  and coalesce(a.backend_type, 'client backend') = 'client backend'
group by 1
