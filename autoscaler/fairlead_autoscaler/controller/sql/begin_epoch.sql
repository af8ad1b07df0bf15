-- begin_epoch: begin a new epoch, so that no earlier controller can write any more.
-- locks: the leader's row.
-- index: leaders_pkey
update fairlead.leaders l
set holder = %(holder)s, epoch = l.epoch + 1, taken_at = now(), lease_until = 'infinity'
where l.role = 'autoscaler'
returning l.epoch
