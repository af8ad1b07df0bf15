-- server: its version, clock and settings, and how many sessions it allows beside those kept for superusers.
--         Of what the doctor's own transactions set, it is what this login's sessions begin with.
-- locks: none
-- index: none
select clock_timestamp() as now,
       current_setting('server_version_num')::integer as version,
       current_setting('server_version') as version_name,
       pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean as read_only,
       getdatabaseencoding()::text as encoding,
       (select s.reset_val from pg_settings s where s.name = 'TimeZone') as timezone,
       current_setting('default_transaction_isolation') as isolation,
       (select s.reset_val from pg_settings s where s.name = 'synchronous_commit')
           as synchronous_commit,
       current_setting('fsync')::boolean as fsync,
       current_setting('autovacuum')::boolean as autovacuum,
       current_setting('track_counts')::boolean as track_counts,
       current_setting('max_connections')::integer
           - current_setting('superuser_reserved_connections')::integer
           - coalesce(current_setting('reserved_connections', true)::integer, 0) as connections_max,
       current_setting('max_connections')::integer as max_connections,
       pg_size_bytes(current_setting('max_wal_size')) as wal_bytes_max
