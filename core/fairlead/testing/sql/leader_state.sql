-- leader_state: the scheduler's epoch and the pool's floor, which a drain uses, and whether that epoch is in
--               force, which a promotion of the server ends; and whether another program is at work: a leader
--               with a valid lease, or a live worker that is not a drain.
-- locks: the leader's row (for share).
-- index: leaders_pkey, claim_floors_pkey, worker_leases_live
select l.epoch, f.vtag, l.holder, l.lease_until > clock_timestamp() as led,
       (select w.name from fairlead.worker_leases w
        where w.dead_at is null and w.pool = %(pool)s and w.name <> %(name)s
          and w.lease_until > now()
        order by w.name limit 1) as worker,
       current_setting('transaction_isolation') as isolation,
       current_setting('lock_timeout') as lock_timeout,
       l.release, fairlead._leads(l.epoch) as in_force
from fairlead.leaders l
cross join lateral (
    select c.vtag from fairlead.claim_floors c
    where c.pool = %(pool)s and c.band = 0 offset 0) f
where l.role = 'scheduler'
