-- pauses: what is paused by hand, until when, with who did it last and why, where one of the 1000 entries of the audit log
--         since then knows.
-- locks: none
-- index: audit_pkey; paused is small.
select p.queue, p.tenant, p.since, p.until, a.reason, coalesce(a.actor, a.login) as actor, clock_timestamp() as now
from fairlead.paused p
left join lateral (
    select a.reason, a.actor, a.login
    from (select * from fairlead.audit a where a.at >= p.since order by a.at, a.id limit 1000) a
    where a.verb = 'pause' and a.queue = p.queue and a.tenant is not distinct from p.tenant
    order by a.at desc, a.id desc limit 1) a on true
order by p.queue, p.tenant limit 100
