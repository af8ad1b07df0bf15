-- forget_fires: delete fires of schedules that are past their retention, oldest first. None comes
--               again: what a schedule has considered lies behind it.
-- locks: the leader's row (for key share), schedule_fires rows (skip locked).
-- index: schedule_fires_age, leaders_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
)
delete from fairlead.schedule_fires f
where f.ctid = any (array(
    select o.ctid from fairlead.schedule_fires o
    where o.fired_at < now() - make_interval(days => %(days)s) and exists (select from lead)
    order by o.fired_at limit %(limit)s
    for update skip locked))
