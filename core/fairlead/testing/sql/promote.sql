-- promote: make jobs of these queues (null: all) pending that are due, or will have fallen due
--                  by %(now)s: those of the earliest instant to come, and none that was put off. Each
--                  draws a new place, in the order of time. Answers their number and how far the
--                  instant is ahead of the clock.
-- locks: the leader's row (for share), then jobs rows by the instant (for update, skip locked).
-- index: jobs_due, jobs_pkey, leaders_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
), instant as materialized (
    select greatest(clock_timestamp() + make_interval(secs => %(ahead_seconds)s), (
        select j.run_at from fairlead.jobs j
        where j.run_at <= %(now)s
          and (%(queues)s::text[] is null or j.queue = any (%(queues)s::text[]))
        order by j.run_at limit 1)) as at
), due as materialized (
    select d.id, d.row, nextval('fairlead.places') as place
    from (
        select j.id, j.ctid as row from fairlead.jobs j
        where j.run_at <= (select i.at from instant i) and j.id <> all (%(put_off)s::bigint[])
          and exists (select from lead)
          and (%(queues)s::text[] is null or j.queue = any (%(queues)s::text[]))
        order by j.run_at, j.id limit %(limit)s
        for update skip locked) d
), promoted as (
    update fairlead.jobs j
    set due_at = j.run_at, run_at = null,
        seq = (select d.place from due d where d.id = j.id)
    where j.ctid = any (array(select d.row from due d))
    returning j.id
)
select (select count(*) from promoted) as promoted,
       extract(epoch from i.at - clock_timestamp())::float8 as ahead_seconds
from instant i
