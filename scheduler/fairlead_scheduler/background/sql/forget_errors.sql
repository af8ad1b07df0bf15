-- forget_errors: delete errors of attempts that are past their retention, oldest first.
-- locks: the leader's row (for key share), attempt_errors rows (skip locked).
-- index: attempt_errors_age, leaders_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
)
delete from fairlead.attempt_errors e
where e.ctid = any (array(
    select o.ctid from fairlead.attempt_errors o
    where o.at < now() - make_interval(days => %(days)s) and exists (select from lead)
    order by o.at limit %(limit)s
    for update skip locked))
