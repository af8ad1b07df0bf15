-- server: its clock, its settings, and how many sessions it may have beside those kept for superusers.
-- locks: none
-- index: none
select clock_timestamp() as now,
       current_setting('autovacuum')::boolean as autovacuum,
       current_setting('track_counts')::boolean as track_counts,
       current_setting('max_connections')::integer
           - current_setting('superuser_reserved_connections')::integer
           - coalesce(current_setting('reserved_connections', true)::integer, 0) as connections_max,
       current_setting('max_connections')::integer as max_connections,
       pg_size_bytes(current_setting('max_wal_size')) as wal_bytes_max
