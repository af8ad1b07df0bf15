-- hold_epoch: see that this epoch is the newest, and keep another from beginning until the transaction
--             ends.
-- locks: the leader's row for share.
-- index: leaders_pkey
select l.epoch from fairlead.leaders l
where l.role = 'autoscaler' and l.epoch = %(epoch)s for share
