-- find_schedule: whose schedules have this name; with a tenant, whether its own does.
-- locks: none
-- index: none: people look at few of them.
select s.tenant from fairlead.schedules s
where s.name = %(name)s and (%(tenant)s::text is null or s.tenant = %(tenant)s)
order by s.tenant limit 10
