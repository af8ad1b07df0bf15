-- setup: what `fairlead doctor --setup` reads beside the fleet's facts: owner, roles, schedules, full backlogs.
-- locks: none
-- index: none: catalogs and small tables.
select (select pg_get_userbyid(c.relowner)::text from pg_class c
        where c.oid = 'fairlead.job_history'::regclass) as history_owner,
       (select pg_get_userbyid(n.nspowner)::text from pg_namespace n
        where n.nspname = 'fairlead') as schema_owner,
       array(select r.role from unnest(array['fairlead_enqueue', 'fairlead_reader', 'fairlead_viewer', 'fairlead_worker',
                 'fairlead_operator', 'fairlead_scheduler', 'fairlead_autoscaler', 'fairlead_admin']) as r (role)
             where to_regrole(r.role) is null) as missing_roles,
       array(select s.name || ': ' || s.problem from fairlead.schedules s
             where s.enabled and s.problem is not null order by s.name, s.tenant limit 10)
           as broken_schedules,
       array(select coalesce('tenant ' || quote_literal(o.tenant) || ' of ', '') || 'queue '
                    || quote_literal(o.queue) || ' (' || o.backlog_limit || ')'
             from fairlead.over_backlog o order by o.since, o.id limit 10)
           as over_backlog,
       array(select distinct s.timezone from fairlead.schedules s order by 1 limit 1000)
           as timezones
