-- switch_schedule: let a schedule fire, or keep it from firing; answers whether there is one.
-- locks: the schedule's row.
-- index: schedules_pkey
with switched as (
    update fairlead.schedules s set enabled = %(enabled)s
    where s.tenant = %(tenant)s::text and s.name = %(name)s::text returning true
)
select exists (select from switched) as answer
