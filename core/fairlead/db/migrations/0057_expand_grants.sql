-- Roles by task: operators, who look after the fleet and change neither policies nor rights; and workers, whose
-- handlers enqueue. What a login may do is in roles.sql, and which rows it meets in rls.sql.

-- The queues in which a worker's login may enqueue; null: in all. One that is bound to pools may do so where its workers
-- hold a job now: which pool serves a queue, the leader alone knows. With row-level security by tenant the role of
-- applications adds its tenants by a policy of its own, and without it every queue.
create function fairlead._follow_ups() returns text[]
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    if not exists (
           select from fairlead.pool_logins l
           where pg_has_role(session_user, to_regrole(quote_ident(l.login)), 'member'))
       or fairlead._is_member('fairlead_enqueue') and not (select o.rls from fairlead.install_options o)
       or fairlead._administers()
    then
        return null;
    end if;
    return array(
        select distinct q.queue from fairlead.work_queue q
        where q.worker = any (array(
            select w.id from fairlead.worker_leases w
            where w.dead_at is null and (
                w.login = session_user
                or pg_has_role(session_user, to_regrole(quote_ident(w.login)), 'member')))));
end $$;

-- When a schedule fired last, for whoever sees it: the fires themselves are the leader's.
create function fairlead._last_fire(tenant text, schedule text) returns timestamptz
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    if not fairlead._reads_all() and not exists (
        select from fairlead.schedules s
        where s.tenant = _last_fire.tenant and s.name = _last_fire.schedule
          and fairlead._owns(s.tenant, s.created_by))
    then
        return null;
    end if;
    return (
        select f.fire_time from fairlead.schedule_fires f
        where f.tenant = _last_fire.tenant and f.schedule = _last_fire.schedule
        order by f.fire_time desc limit 1);
end $$;
