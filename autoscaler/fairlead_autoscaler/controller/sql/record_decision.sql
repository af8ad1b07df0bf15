-- record_decision: store what was decided for a pool and why, for the command line; nothing under another
--       epoch.
-- locks: the leader's row for share, then the pool's row.
-- index: leaders_pkey, pool_decisions_pkey
insert into fairlead.pool_decisions (pool, epoch, at, decision)
select %(pool)s, l.epoch, %(at)s, %(decision)s
from (select %(epoch)s::bigint as epoch where fairlead._autoscaler_leads(%(epoch)s)) l
on conflict (pool) do update
set epoch = excluded.epoch, at = excluded.at, decision = excluded.decision
returning epoch
