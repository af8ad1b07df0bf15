-- paused: what is paused by hand, by name: a queue, or one tenant in it.
-- locks: none
-- index: none: the table is small.
select p.queue, p.tenant, p.since, p.until, clock_timestamp() as now from fairlead.paused p
order by p.queue, p.tenant limit 100
