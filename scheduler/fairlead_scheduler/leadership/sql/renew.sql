-- renew: extend the lease of this epoch; returns no row when another epoch is in force or the lease was
--        released.
-- locks: the leader's row.
-- index: leaders_pkey
update fairlead.leaders l
set lease_until = now() + make_interval(secs => %(lease_seconds)s)
where l.role = 'scheduler' and l.epoch = %(epoch)s and l.lease_until > '-infinity'
returning l.epoch
