-- schedule: have something tidied up every ten seconds. A repeat changes nothing.
-- locks: the new row.
-- index: schedules_pkey
insert into fairlead.schedules (name, cron, queue, tenant, kind)
values ('tidy up', '*/10 * * * * *', 'upkeep', 'shop', 'tidy')
on conflict do nothing
