-- tables: how many rows of the tables that change all the time are live and dead, by the server's statistics, and
--         how large they and their indexes are.
-- locks: these tables (access share), for a moment.
-- index: none: catalogs, by these names only.
select t.name, pg_stat_get_live_tuples(t.id) as live_rows, pg_stat_get_dead_tuples(t.id) as dead_rows,
       pg_table_size(t.id) as table_bytes, pg_indexes_size(t.id) as index_bytes
from (
    select n.name, to_regclass('fairlead.' || n.name)::oid as id
    from unnest(array['jobs', 'work_queue', 'receipts', 'worker_leases', 'leaders', 'claim_floors',
                      'floor_scans', 'job_progress', 'attempt_errors', 'schedules', 'rate_usage', 'over_backlog',
                      'pool_demand', 'pod_drains', 'fairness_reports']) n (name)) t
where t.id is not null
