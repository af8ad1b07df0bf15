-- lock_epoch: check that this epoch is the newest, and let no other begin until the transaction ends.
-- locks: the leader's row for share.
-- index: leaders_pkey
select %(epoch)s::bigint as epoch where fairlead._autoscaler_leads(%(epoch)s)
