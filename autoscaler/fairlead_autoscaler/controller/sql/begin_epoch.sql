-- begin_epoch: begin a new epoch, so that no earlier controller can write any more.
-- locks: the leader's row.
-- index: leaders_pkey
select fairlead._begin_autoscaler_epoch(%(holder)s)
