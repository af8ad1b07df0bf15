-- sessions: who has sessions on the server, the most first. Every login may see that.
-- locks: none
-- index: none
select coalesce(nullif(a.application_name, ''), 'unnamed') as application,
       count(*)::integer as sessions, (sum(count(*)) over ())::integer as total
from pg_stat_activity a where a.backend_type = 'client backend'
group by 1 order by 2 desc, 1 limit 100
