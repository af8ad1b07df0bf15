-- What one login can do to others by schedules, and an administrator without a word.

-- The leader reads a number of each login's, in this order.
create index schedules_login on fairlead.schedules ((coalesce(created_by, '')), tenant, name);

-- Who changes a schedule of another login's becomes the one that made it: what an administrator made may fire as
-- often as it says, and with row-level security by tenant a login changes all that its tenants have. An operator who
-- only enables or disables a schedule leaves it whose it is, so that an administrator's goes on firing as often as it
-- says. What else operators change, as an application's login, is theirs as everybody's is.
create function fairlead._take_schedule() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    switched constant boolean :=
        (old.cron, old.timezone, old.missed, old.queue, old.kind, old.payload, old.priority, old.max_attempts,
         old.timeout, old.expires_in, old.headers)
        is not distinct from
        (new.cron, new.timezone, new.missed, new.queue, new.kind, new.payload, new.priority, new.max_attempts,
         new.timeout, new.expires_in, new.headers);
begin
    if not (fairlead._administers() or switched and fairlead._owns_all()) then
        new.created_by := session_user;
    end if;
    return new;
end $$;
create trigger schedules_take before update of
    cron, timezone, missed, enabled, queue, kind, payload, priority, max_attempts, timeout, expires_in, headers
    on fairlead.schedules
    for each row when (new.created_by is distinct from session_user::text
                       and (old.cron, old.timezone, old.missed, old.enabled, old.queue, old.kind, old.payload,
                            old.priority, old.max_attempts, old.timeout, old.expires_in, old.headers)
                           is distinct from
                           (new.cron, new.timezone, new.missed, new.enabled, new.queue, new.kind, new.payload,
                            new.priority, new.max_attempts, new.timeout, new.expires_in, new.headers))
    execute function fairlead._take_schedule();

-- --- what an administrator does is an entry of the audit log ------------------------------------------------

-- Ends a worker's lease by hand, so that it can neither claim nor renew. Answers whether it had one.
create function fairlead._release_worker(worker bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    was_live boolean;
begin
    update fairlead.worker_leases w set dead_at = clock_timestamp()
    where w.id = _release_worker.worker and w.dead_at is null;
    was_live := found;
    if was_live or exists (select from fairlead.work_queue q where q.worker = _release_worker.worker) then
        perform fairlead._record_audit('release_worker', details => (
            select jsonb_build_object('worker', w.id, 'name', w.name, 'pool', w.pool)
            from fairlead.worker_leases w where w.id = _release_worker.worker));
    end if;
    return was_live;
end $$;

-- An entry for each hundred that a statement binds of logins, to pools or to tenants, or whose binding it ends; an
-- UPDATE does both.
create function fairlead._audit_logins() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform fairlead._record_audit(
        tg_argv[0],
        tenant => case when min(b.tenant) = max(b.tenant) then min(b.tenant) end,
        details => jsonb_build_object(
            'of', tg_table_name, 'rows', count(*), 'pairs', array_agg(b.pair order by b.pair)))
    from (
        select p.tenant, p.pair, (row_number() over (order by p.pair) - 1) / 100 as hundred
        from (
            select r.line ->> 'tenant' as tenant,
                   concat(r.line ->> 'login', ': ', coalesce(r.line ->> 'tenant', r.line ->> 'pool')) as pair
            from (select to_jsonb(c) from changed c) r (line)) p) b
    group by b.hundred order by b.hundred;
    return null;
end $$;
create trigger pool_logins_audit_bound after insert on fairlead.pool_logins
    referencing new table as changed for each statement execute function fairlead._audit_logins('bind_login');
create trigger pool_logins_audit_unbound after delete on fairlead.pool_logins
    referencing old table as changed for each statement execute function fairlead._audit_logins('unbind_login');
create trigger pool_logins_audit_former after update on fairlead.pool_logins
    referencing old table as changed for each statement execute function fairlead._audit_logins('unbind_login');
create trigger pool_logins_audit_rebound after update on fairlead.pool_logins
    referencing new table as changed for each statement execute function fairlead._audit_logins('bind_login');
create trigger tenant_logins_audit_bound after insert on fairlead.tenant_logins
    referencing new table as changed for each statement execute function fairlead._audit_logins('bind_login');
create trigger tenant_logins_audit_unbound after delete on fairlead.tenant_logins
    referencing old table as changed for each statement execute function fairlead._audit_logins('unbind_login');
create trigger tenant_logins_audit_former after update on fairlead.tenant_logins
    referencing old table as changed for each statement execute function fairlead._audit_logins('unbind_login');
create trigger tenant_logins_audit_rebound after update on fairlead.tenant_logins
    referencing new table as changed for each statement execute function fairlead._audit_logins('bind_login');

-- Adds an entry where the session ends or extends an attempt of a login that it is no member of: as an administrator.
create function fairlead._record_for_another(verb text, job_id bigint, login name) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if not coalesce(pg_has_role(session_user, to_regrole(quote_ident(login)), 'member'), false) then
        perform fairlead._record_audit(
            _record_for_another.verb, job_id => _record_for_another.job_id,
            details => jsonb_build_object('of', _record_for_another.login));
    end if;
end $$;
