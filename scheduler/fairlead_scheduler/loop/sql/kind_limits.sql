-- kind_limits: how many jobs of a kind may be in flight in the fleet, as workers of each pool say: the smallest number
--              of the live ones. While none of these has the kind without a limit, what was said last holds. Nothing is
--              found in most fleets. It is read once a second at most, with the workers. `asked`: a worker waits until
--              the leader holds to it. Of each pool the first %(limit)s kinds are read, and of each of these %(looked)s
--              rows, with the smallest numbers first and then of the newest workers: dead ones' stay for a day.
-- locks: none.
-- index: worker_kind_limits_smallest, worker_kind_limits_newest, worker_kind_limits_unknown, worker_leases_pkey,
--        announced_kinds_pool, worker_kind_limits_pkey
with recursive limited as (
    select p.pool, f.kind, 1 as place
    from unnest(%(pools)s::text[]) as p (pool) cross join lateral (
        select l.kind from fairlead.worker_kind_limits l where l.pool = p.pool order by l.kind limit 1) f
    union all
    select p.pool, n.kind, p.place + 1
    from limited p cross join lateral (
        select l.kind from fairlead.worker_kind_limits l
        where l.pool = p.pool and l.kind > p.kind order by l.kind limit 1) n
    where p.place < %(limit)s
)
select p.pool, p.kind, coalesce(smallest.at_most, newest.at_most, former.at_most) as at_most,
       exists (
           select from fairlead.worker_kind_limits u
           where u.pool = p.pool and u.kind = p.kind and not u.known) as asked,
       coalesce(smallest.fleet, newest.fleet, former.fleet) as fleet
from limited p
left join lateral (
    select s.at_most, s.fleet from (
        select l.worker, l.at_most, l.fleet from fairlead.worker_kind_limits l
        where l.pool = p.pool and l.kind = p.kind order by l.at_most, l.worker desc limit %(looked)s) s
    cross join lateral (
        select from fairlead.worker_leases w
        where w.id = s.worker and w.dead_at is null and w.lease_until > now() offset 0) w
    order by s.at_most limit 1) smallest on true
left join lateral (
    select min(s.at_most) as at_most, min(s.fleet) as fleet from (
        select l.worker, l.at_most, l.fleet from fairlead.worker_kind_limits l
        where smallest.at_most is null and l.pool = p.pool and l.kind = p.kind
        order by l.worker desc limit %(looked)s) s
    cross join lateral (
        select from fairlead.worker_leases w
        where w.id = s.worker and w.dead_at is null and w.lease_until > now() offset 0) w) newest on true
left join lateral (
    select l.at_most, l.fleet from fairlead.worker_kind_limits l
    where coalesce(smallest.at_most, newest.at_most) is null and l.pool = p.pool and l.kind = p.kind
      and not exists (
          select from (
              select a.worker from fairlead.announced_kinds a
              where a.pool = p.pool and a.kind = p.kind order by a.worker desc limit %(looked)s) a
          cross join lateral (
              select from fairlead.worker_leases w
              where w.id = a.worker and w.dead_at is null and w.lease_until > now() offset 0) w
          where not exists (
              select from fairlead.worker_kind_limits o where o.worker = a.worker and o.kind = p.kind offset 0))
    order by l.worker desc limit 1) former on true
where coalesce(smallest.at_most, newest.at_most, former.at_most) is not null
