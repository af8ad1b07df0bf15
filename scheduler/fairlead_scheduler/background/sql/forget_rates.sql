-- forget_rates: delete rate windows that have been empty for an hour.
-- locks: the leader's row (for key share), rate_usage rows (skip locked): a dispatch may be at them.
-- index: leaders_pkey; rate_usage is read whole: it has one row for each window in use.
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
)
delete from fairlead.rate_usage r
where r.ctid = any (array(
    select u.ctid from fairlead.rate_usage u
    where u.tat_us < (extract(epoch from now()) - 3600) * 1e6 and exists (select from lead)
    limit %(limit)s
    for update skip locked))
