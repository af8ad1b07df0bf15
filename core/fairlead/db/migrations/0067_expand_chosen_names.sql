-- What names a login chooses for its jobs, and how many, costs nobody else.

-- The planner estimates with what ANALYZE found in the rows of all, whatever row-level security hides, and EXPLAIN shows
-- the estimates: by some 250 of them a login read another tenant's name. No plan rests on these columns.
alter table fairlead.jobs
    alter column queue set statistics 0, alter column tenant set statistics 0, alter column dedup_key set statistics 0;
alter table fairlead.schedules
    alter column name set statistics 0, alter column cron set statistics 0, alter column timezone set statistics 0,
    alter column missed set statistics 0, alter column queue set statistics 0, alter column tenant set statistics 0,
    alter column kind set statistics 0, alter column problem set statistics 0,
    alter column created_by set statistics 0;
alter index fairlead.schedules_login alter column 1 set statistics 0;

-- What was found before stays otherwise.
do $$
begin
    if not exists (
        select from pg_stats s
        where s.schemaname = 'fairlead' and s.tablename in ('jobs', 'schedules', 'schedules_login'))
    then
        return;
    end if;
    delete from pg_statistic s using pg_attribute a
    where a.attrelid = s.starelid and a.attnum = s.staattnum and a.attstattarget = 0
      and a.attrelid in ('fairlead.jobs'::regclass, 'fairlead.schedules'::regclass,
                         'fairlead.schedules_login'::regclass);
exception when insufficient_privilege then
    raise warning 'fairlead: with row-level security by tenant, EXPLAIN may still tell names of tenants that were there '
                  'when the tables were analyzed last: have a superuser run "delete from pg_statistic where starelid '
                  'in (''fairlead.jobs''::regclass, ''fairlead.schedules''::regclass)"';
end $$;
