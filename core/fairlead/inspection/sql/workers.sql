-- workers: worker processes, the living ones first, then those that died at most %(dead_seconds)s ago; null is
--          at any time. What a worker has leased it runs, or holds until a slot is free.
-- locks: none
-- index: none: there is one row per process.
select w.id, w.name, w.pool, w.host, w.pod_uid, w.pod_name, w.slots, w.running - w.held as running, w.held,
       w.version, w.started_at, w.lease_until, w.dead_at, w.state, w.slots_full, w.drain_until, w.drained_at,
       clock_timestamp() as now
from fairlead.workers w
where w.dead_at is null or %(dead_seconds)s::integer is null
   or w.dead_at > now() - %(dead_seconds)s::integer * interval '1 second'
order by w.dead_at is not null, w.pool, w.name, w.id limit 1000
