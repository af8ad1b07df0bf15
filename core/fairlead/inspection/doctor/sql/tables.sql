-- tables: how large each table is, what of it is dead, and how it is vacuumed.
-- locks: each table, as a reader, for a moment.
-- index: none: catalogs.
select c.relname::text as name, coalesce(s.n_live_tup, 0) as live, coalesce(s.n_dead_tup, 0) as dead,
       pg_relation_size(c.oid) as bytes,
       coalesce(o.threshold, current_setting('autovacuum_vacuum_threshold')::bigint)
           + coalesce(o.scale, current_setting('autovacuum_vacuum_scale_factor')::float)
             * greatest(c.reltuples, 0) as vacuumed_at,
       coalesce(o.autovacuum, true) as autovacuum
from pg_class c
left join pg_stat_all_tables s on s.relid = c.oid
left join lateral (
    select max(p.option_value) filter (where p.option_name = 'autovacuum_vacuum_threshold')::bigint
               as threshold,
           max(p.option_value) filter (where p.option_name = 'autovacuum_vacuum_scale_factor')::float
               as scale,
           bool_and(p.option_value::boolean) filter (where p.option_name = 'autovacuum_enabled')
               as autovacuum
    from pg_options_to_table(c.reloptions) p) o on true
where c.relnamespace = 'fairlead'::regnamespace and c.relkind = 'r' order by 1
