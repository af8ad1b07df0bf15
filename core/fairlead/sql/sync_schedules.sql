-- sync_schedules: make the schedules of an application those that it declares, given as an object with its
--                 name; each that was added, changed or removed as a JSON text, and each name that is taken.
-- locks: the rows that it inserts, changes and removes, in the order of their tenants and names.
-- index: schedules_pkey, schedules_declared
with given as materialized (
    select g.application, g.schedules
    from json_to_record(%s::json) as g (application text, schedules json)
), wanted as materialized (
    select g.application, w.*
    from given g cross join lateral json_to_recordset(g.schedules) as w (
        name text, cron text, timezone text, missed text, queue text, tenant text, kind text,
        payload jsonb, priority smallint, max_attempts integer, timeout interval,
        expires_in interval)
    order by w.tenant, w.name
), taken as materialized (
    select s.tenant, s.name
    from wanted w join fairlead.schedules s on s.tenant = w.tenant and s.name = w.name
    where s.declared_by is distinct from w.application
), gone as materialized (
    select s.tenant, s.name
    from given g join fairlead.schedules s on s.declared_by = g.application
    where not exists (select from wanted w where w.tenant = s.tenant and w.name = s.name)
    order by s.tenant, s.name
), written as (
    insert into fairlead.schedules as s (
        name, cron, timezone, missed, queue, tenant, kind, payload, priority, max_attempts, timeout,
        expires_in, declared_by)
    select w.name, w.cron, w.timezone, w.missed, w.queue, w.tenant, w.kind, w.payload, w.priority,
           w.max_attempts, w.timeout, w.expires_in, w.application
    from wanted w
    on conflict (tenant, name) do update
    set cron = excluded.cron, timezone = excluded.timezone, missed = excluded.missed,
        queue = excluded.queue, kind = excluded.kind, payload = excluded.payload,
        priority = excluded.priority, max_attempts = excluded.max_attempts,
        timeout = excluded.timeout, expires_in = excluded.expires_in
    where s.declared_by = excluded.declared_by
      and (s.cron, s.timezone, s.missed, s.queue, s.kind, s.payload, s.priority, s.max_attempts,
           s.timeout, s.expires_in)
          is distinct from (
           excluded.cron, excluded.timezone, excluded.missed, excluded.queue, excluded.kind,
           excluded.payload, excluded.priority, excluded.max_attempts, excluded.timeout,
           excluded.expires_in)
    returning s.tenant, s.name, s.changes
)
select json_build_array(
    case when w.changes = 0 then 'added' else 'changed' end, w.tenant, w.name)::text
from written w
union all
select json_build_array('taken', t.tenant, t.name)::text from taken t
union all
select json_build_array('removed', g.tenant, g.name)::text
from gone g where fairlead.remove_schedules(g.tenant, g.name) > 0
