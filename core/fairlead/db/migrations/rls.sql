-- Which rows of jobs, schedules and batches a login meets, arranged on every migrate. Without row-level security by
-- tenant a login inserts for any tenant, and sees what it has inserted itself. With it, which `migrate --rls`
-- installs and every migrate after that keeps up, it sees and inserts only the tenants that tenant_logins
-- gives to it. Who it is comes from session_user, which no SET and no SET ROLE changes. COPY into the tables
-- is refused by PostgreSQL for such a login. Functions and views, which read as their owner, ask _owns and
-- _reads_all themselves.
--
-- A worker's handlers enqueue for whichever tenant, and make batches; where the login is bound to pools, both in the queues
-- of what it holds.
--
-- A policy that is there stays as it is: to make it anew would wait for every reader of the table, and
-- every INSERT would wait behind it. To go back to logins: set rls to false in install_options, and migrate.

do $policies$
declare
    by_tenant constant boolean := (select o.rls from fairlead.install_options o);
    all_tenants constant text := '((select fairlead._sees_all()) or fairlead._sees(tenant))';
    follow_ups constant text := 'coalesce(queue = any ((select fairlead._follow_ups())::text[]), true)';
    target record;
    policy record;
    there boolean;
begin
    for target in
        select c.oid, t.name, c.relrowsecurity as secured, format('(%I = session_user)', t.login) as own
        from (values ('jobs', 'enqueued_by'), ('schedules', 'created_by'), ('batches', 'created_by')) as t (name, login)
        join pg_class c on c.oid = format('fairlead.%I', t.name)::regclass
    loop
        if not target.secured then
            execute format('alter table fairlead.%I enable row level security', target.name);
        end if;
        for policy in
            select p.* from (values
                ('own_tenants', by_tenant, format('using %s with check %1$s', all_tenants)),
                ('own_rows', not by_tenant, format('using %s', target.own)),
                ('any_tenant', not by_tenant, 'for insert with check (true)'),
                ('fairlead_reader_reads_all', not by_tenant and to_regrole('fairlead_reader') is not null,
                 'for select to fairlead_reader using (true)'),
                ('fairlead_viewer_reads_all', to_regrole('fairlead_viewer') is not null,
                 'for select to fairlead_viewer using (true)')) as p (name, wanted, rule)
            union all
            select w.name, w.wanted and target.name <> 'schedules' and to_regrole('fairlead_worker') is not null, w.rule
            from (values
                ('workers_enqueue', by_tenant,
                 format('to fairlead_worker using %s with check (%s)', target.own, follow_ups)),
                ('bound_workers_enqueue_where_they_hold_a_job', not by_tenant,
                 format('as restrictive for insert to fairlead_worker with check (%s)', follow_ups))
                ) as w (name, wanted, rule)
            union all
            -- A constant lets the services' statements keep their plans.
            select r.name || '_sees_all', to_regrole(r.name) is not null,
                   format('to %I using (true) with check (true)', r.name)
            from unnest(array['fairlead_operator', 'fairlead_scheduler', 'fairlead_autoscaler',
                              'fairlead_admin']) as r (name)
        loop
            there := exists (select from pg_policy p
                             where p.polrelid = target.oid and p.polname = policy.name);
            if policy.wanted and not there then
                execute format('create policy %I on fairlead.%I %s', policy.name, target.name, policy.rule);
            elsif there and not policy.wanted then
                execute format('drop policy %I on fairlead.%I', policy.name, target.name);
            end if;
        end loop;
    end loop;
end $policies$;
