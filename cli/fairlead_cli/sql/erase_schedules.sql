-- erase_schedules: take out every schedule of a tenant; answers how many.
-- locks: the schedules' rows.
-- index: schedules_pkey
select fairlead.remove_schedules(%(tenant)s) as removed
