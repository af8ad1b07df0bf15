-- lead: begin a new epoch, so that nothing of an earlier controller is written any more.
-- locks: the leader's row.
-- index: leaders_pkey
update fairlead.leaders l
set holder = %(holder)s, epoch = l.epoch + 1, taken_at = now(), lease_until = 'infinity'
where l.role = 'autoscaler'
returning l.epoch
