-- begin_epoch: begin a new epoch, so that no earlier controller can write any more; answers no row where the
--              database belongs to another release.
-- locks: the leader's row.
-- index: leaders_pkey
select b.epoch from fairlead._begin_autoscaler_epoch(%(holder)s, %(release)s) as b (epoch)
where b.epoch is not null
