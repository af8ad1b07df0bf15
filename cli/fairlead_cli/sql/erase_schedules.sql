-- erase_schedules: take out every schedule of a tenant.
-- locks: the schedules' rows.
-- index: schedules_pkey
delete from fairlead.schedules s where s.tenant = %(tenant)s
returning s.name
