-- own_database: who logs in, where tables of that login land that name no schema, and how many workers are live.
-- locks: none
-- index: none, there are few workers
select session_user, s.reset_val, (select count(*) from fairlead.workers w where w.state = 'live')
from pg_catalog.pg_settings s where s.name = 'search_path'
