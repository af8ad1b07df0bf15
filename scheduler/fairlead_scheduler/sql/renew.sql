-- renew: extend the lease of this epoch; answers nothing when another one leads.
-- locks: the leader's row.
-- index: leaders_pkey
update fairlead.leaders l
set lease_until = now() + make_interval(secs => %(lease_seconds)s)
where l.role = 'scheduler' and l.epoch = %(epoch)s and l.lease_until > '-infinity'
returning l.epoch
