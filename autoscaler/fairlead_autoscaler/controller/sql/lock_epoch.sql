-- lock_epoch: check that this epoch is the newest, and let no other begin until the transaction ends.
-- locks: the leader's row for share.
-- index: leaders_pkey
select l.epoch from fairlead.leaders l
where l.role = 'autoscaler' and l.epoch = %(epoch)s for share
