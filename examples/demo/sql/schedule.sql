-- schedule: a roll-up of every package, as a nightly report, every ten seconds here.
-- locks: the new rows.
-- index: schedules_pkey
insert into fairlead.schedules (name, cron, timezone, queue, tenant, kind, missed)
select 'roll-up ' || p.package, '*/10 * * * * *', 'Europe/Berlin', 'reports', p.package, 'roll_up',
       'coalesce'
from unnest(%(packages)s::text[]) as p (package)
