-- indexes: which there are, whether each can be used, and how large it is for how many living rows.
-- locks: each index, as a reader, for a moment.
-- index: none: catalogs.
select c.relname::text as name, t.relname::text as table, i.indisvalid and i.indisready as valid,
       case when c.relkind = 'i' then pg_relation_size(c.oid) else 0 end as bytes,
       coalesce(s.n_live_tup, 0) as live
from pg_index i
join pg_class c on c.oid = i.indexrelid
join pg_class t on t.oid = i.indrelid
left join pg_stat_all_tables s on s.relid = i.indrelid
where t.relnamespace = 'fairlead'::regnamespace and t.relkind in ('r', 'p') order by 1
