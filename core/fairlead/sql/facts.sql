-- facts: what `fairlead check` judges: the server, the history and who is at work.
-- locks: none
-- index: none: catalogs and small tables.
select current_setting('server_version_num')::integer as server_version,
       current_setting('server_version') as server_version_name,
       pg_is_in_recovery() as is_standby,
       getdatabaseencoding()::text as encoding,
       current_setting('TimeZone') as timezone,
       current_setting('default_transaction_isolation') as isolation,
       current_setting('default_transaction_read_only')::boolean as read_only,
       current_setting('synchronous_commit') as synchronous_commit,
       current_setting('fsync')::boolean as fsync,
       current_setting('autovacuum')::boolean and current_setting('track_counts')::boolean
           as autovacuum,
       current_setting('max_connections')::integer
           - current_setting('superuser_reserved_connections')::integer as connections_max,
       (select count(*) from pg_stat_activity a where a.backend_type = 'client backend')::integer
           as connections,
       (select count(*) from fairlead.worker_leases w
        where w.dead_at is null and w.lease_until > now())::integer as workers,
       (select l.lease_until > now() from fairlead.leaders l where l.role = 'scheduler') as is_led,
       (select min(h.days) from (
           select max(to_date(right(c.relname, 8), 'YYYYMMDD')) - (now() at time zone 'UTC')::date
               as days
           from pg_inherits i join pg_class c on c.oid = i.inhrelid
           where i.inhparent in ('fairlead.job_history_succeeded'::regclass,
                                 'fairlead.job_history_unsuccessful'::regclass)
           group by i.inhparent) h) as history_days_ahead,
       (select pg_get_userbyid(c.relowner)::text from pg_class c
        where c.oid = 'fairlead.job_history'::regclass) as history_owner,
       array(select r.role from unnest(array['fairlead_enqueue', 'fairlead_worker',
                 'fairlead_scheduler', 'fairlead_autoscaler', 'fairlead_admin']) as r (role)
             where to_regrole(r.role) is null) as missing_roles,
       array(select s.name || ': ' || s.problem from fairlead.schedules s
             where s.enabled and s.problem is not null order by s.name, s.tenant limit 10)
           as broken_schedules,
       array(select coalesce('tenant ' || quote_literal(o.tenant) || ' of ', '') || 'queue '
                    || quote_literal(o.queue) || ' (' || o.backlog_limit || ')'
             from fairlead.over_backlog o order by o.since, o.id limit 10)
           as over_backlog,
       array(select distinct s.timezone from fairlead.schedules s order by 1 limit 1000)
           as timezones,
       clock_timestamp() as now
