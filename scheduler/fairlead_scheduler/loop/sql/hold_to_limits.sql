-- hold_to_limits: tell workers that the leader holds to the limits of kinds that they have said: no more than that wait
--                 to be claimed. Where another one has said a smaller number, to that. It tells %(most)s of each limit,
--                 and passes over those that say another at that moment: the next time is a second later.
-- locks: the leader's row (for key share), and the rows of worker_kind_limits that it tells (skip locked): a worker's
--        login may hold its own for ever.
-- index: leaders_pkey, worker_kind_limits_unknown, worker_kind_limits_pkey
with lead as materialized (
    select where fairlead._leads(%(epoch)s)
), told as materialized (
    select u.worker, u.kind
    from lead cross join unnest(%(pools)s::text[], %(kinds)s::text[], %(limits)s::integer[]) as g (pool, kind, at_most)
    cross join lateral (
        select l.worker, l.kind from fairlead.worker_kind_limits l
        where not l.known and l.pool = g.pool and l.kind = g.kind and l.at_most >= g.at_most
        limit %(most)s for no key update skip locked) u
)
update fairlead.worker_kind_limits l set known = true
from told t where l.worker = t.worker and l.kind = t.kind
