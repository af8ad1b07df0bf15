-- renew: extend the lease of this epoch; returns null when another epoch is in force or the lease was
--        released.
-- locks: the leader's row.
-- index: leaders_pkey
select fairlead._renew_leadership(%(epoch)s, %(lease_seconds)s)
