-- Row-level security, installed by `migrate --rls` and kept up by every migrate after that. A login
-- sees and inserts only the tenants that tenant_logins gives to it. Who it is comes from
-- session_user, which no SET and no SET ROLE changes. COPY into the tables is refused by PostgreSQL
-- for such a login. Functions and views, which read as their owner, ask _sees themselves.
--
-- To take it out again: disable row level security on both tables, and set rls to false in
-- install_options.

update fairlead.install_options set rls = true where not rls;

alter table fairlead.jobs enable row level security;
alter table fairlead.schedules enable row level security;

do $policies$
declare
    target text;
    role text;
begin
    foreach target in array array['jobs', 'schedules'] loop
        execute format('drop policy if exists own_tenants on fairlead.%I', target);
        execute format(
            'create policy own_tenants on fairlead.%I '
            'using ((select fairlead._sees_all()) or fairlead._sees(tenant)) '
            'with check ((select fairlead._sees_all()) or fairlead._sees(tenant))', target);
        -- A constant lets the services' statements keep their plans.
        foreach role in array array['fairlead_scheduler', 'fairlead_autoscaler', 'fairlead_admin'] loop
            execute format('drop policy if exists %I on fairlead.%I', role || '_sees_all', target);
            if to_regrole(role) is not null then
                execute format('create policy %I on fairlead.%I to %I using (true) with check (true)',
                               role || '_sees_all', target, role);
            end if;
        end loop;
    end loop;
end $policies$;
