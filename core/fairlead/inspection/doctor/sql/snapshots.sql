-- snapshots: what keeps dead rows of this database from being vacuumed, and slots that keep WAL. Of
--            sessions of other logins only members of pg_read_all_stats see it.
-- locks: none
-- index: none
select case a.backend_type when 'walsender' then 'standby' else 'session' end as kind,
       a.pid, null::text as name, a.application_name as application, a.usename::text as login, a.state,
       clock_timestamp() - a.xact_start as age,
       greatest(age(a.backend_xmin), age(a.backend_xid)) as transactions, null::bigint as wal_bytes
from pg_stat_activity a
where a.pid <> pg_backend_pid() and coalesce(a.backend_xmin, a.backend_xid) is not null
  and (a.backend_type = 'client backend' and a.datname = current_database() or a.backend_type = 'walsender')
union all
select 'prepared', null, p.gid, null, p.owner::text, null,
       clock_timestamp() - p.prepared, age(p.transaction), null
from pg_prepared_xacts p where p.database = current_database()
union all
select 'slot', s.active_pid, s.slot_name::text, s.plugin::text, null,
       case when s.active then 'active' else 'inactive' end, null, age(s.xmin),
       case when not pg_is_in_recovery() then pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)::bigint end
from pg_replication_slots s
order by kind, age desc nulls last, pid limit 1000
