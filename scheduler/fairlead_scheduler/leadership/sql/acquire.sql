-- acquire: acquire the lease, if no lease is in force or this process held the last one; returns the new
--          epoch. Waits for statements of the former leader that are under way.
-- locks: the leader's row.
-- index: leaders_pkey
update fairlead.leaders l
set holder = %(holder)s, epoch = l.epoch + 1, taken_at = now(),
    lease_until = now() + make_interval(secs => %(lease_seconds)s)
where l.role = 'scheduler' and (l.lease_until < now() or l.holder = %(holder)s)
returning l.epoch
