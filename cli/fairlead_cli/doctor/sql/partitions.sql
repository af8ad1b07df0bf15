-- partitions: for how many days after today both classes of endings have partitions; null where one has none.
-- locks: none
-- index: none: catalogs.
select min(coalesce(h.days, -1))::integer as days_ahead
from unnest(array['job_history_succeeded', 'job_history_unsuccessful']) as k (class)
left join lateral (
    select max(to_date(right(c.relname, 8), 'YYYYMMDD')) - (now() at time zone 'UTC')::date as days
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = to_regclass('fairlead.' || k.class)) h on true
