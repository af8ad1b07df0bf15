-- history_pages: the size in pages of history's partitions of these classes and days (YYYYMMDD).
-- locks: none.
-- index: none; asks the catalogue.
select c.class, d.day,
       coalesce(pg_relation_size(to_regclass(format('fairlead.job_history_%%s_%%s', c.class, d.day))), 0)
           / current_setting('block_size')::bigint as pages
from unnest(%(classes)s::text[]) as c (class) cross join unnest(%(days)s::text[]) as d (day)
