-- partitions: for how many days on end after today both classes of endings have partitions; -1: not even for
--             today. 100 at most.
-- locks: none
-- index: none: catalogs.
select coalesce(min(n.day), 101) - 1 as days_ahead
from unnest(array['job_history_succeeded', 'job_history_unsuccessful']) as k (class)
cross join generate_series(0, 100) as n (day)
where not exists (
    select from pg_inherits i
    where i.inhparent = to_regclass('fairlead.' || k.class)
      and i.inhrelid = to_regclass('fairlead.' || k.class || '_'
                                   || to_char((now() at time zone 'UTC')::date + n.day, 'YYYYMMDD')))
