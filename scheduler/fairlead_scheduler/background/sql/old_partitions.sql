-- old_partitions: the next step for each partition of history that is past its retention, oldest first:
--                 to detach it, to finish a detaching that was interrupted, or to drop it.
-- locks: none; what it answers locks the partition, and does not keep anybody from its parent.
-- index: none; the system's catalogs.
select c.name,
       case when i.inhrelid is null then format('drop table fairlead.%%I', c.name)
            when i.inhdetachpending
                then format('alter table %%s detach partition fairlead.%%I finalize',
                            i.inhparent::regclass, c.name)
            else format('alter table %%s detach partition fairlead.%%I concurrently',
                        i.inhparent::regclass, c.name) end as command
from unnest(array['succeeded', 'unsuccessful'],
            array[%(succeeded_days)s::integer, %(unsuccessful_days)s::integer]) as r (class, days)
cross join lateral (
    select c.oid, c.relname as name from pg_class c
    where c.relnamespace = 'fairlead'::regnamespace and c.relkind = 'r'
      and c.relname ~ ('^job_history_' || r.class || '_[0-9]{8}$')
      and c.relname::text < fairlead._history_partition(
          r.class, (now() at time zone 'UTC')::date - r.days)
) c
left join pg_inherits i on i.inhrelid = c.oid
order by c.name limit %(limit)s
