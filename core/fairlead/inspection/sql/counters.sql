-- counters: how far the job and token sequences are and how many endings were counted: their
--           growth is what was inserted, started and finished since. Counts lag by about a second.
-- locks: none
-- index: none: sequences and the statistics of a few partitions.
select (select s.last_value - (not s.is_called)::int from fairlead.jobs_id_seq s) as inserted,
       (select s.last_value - (not s.is_called)::int from fairlead.tokens s) as started,
       (select coalesce(sum(pg_stat_get_tuples_inserted(t.relid)), 0)::bigint
        from pg_partition_tree('fairlead.job_history_succeeded') t where t.isleaf) as succeeded,
       (select coalesce(sum(pg_stat_get_tuples_inserted(t.relid)), 0)::bigint
        from pg_partition_tree('fairlead.job_history_unsuccessful') t where t.isleaf) as unsuccessful,
       clock_timestamp() as now
