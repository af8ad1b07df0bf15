-- record_decision: store what was decided for a pool and why, for the command line; nothing under another
--       epoch.
-- locks: the leader's row for share, then the pool's row.
-- index: leaders_pkey, pool_decisions_pkey
insert into fairlead.pool_decisions (pool, epoch, at, decision)
select %(pool)s, l.epoch, %(at)s, %(decision)s
from (select l.epoch from fairlead.leaders l
      where l.role = 'autoscaler' and l.epoch = %(epoch)s for share) l
on conflict (pool) do update
set epoch = excluded.epoch, at = excluded.at, decision = excluded.decision
returning epoch
