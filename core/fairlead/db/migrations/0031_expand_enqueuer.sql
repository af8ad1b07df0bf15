-- Who enqueued a job, and who made a schedule: they may follow and cancel what is theirs, and nothing of others.
--
-- A name and no oid: finding the oid costs an INSERT 7 % of its time in the server and the name nothing that can
-- be measured; it means the same login after a dump is restored elsewhere; and tenant_logins has names, too.

-- Without a default at first: what is there already is nobody's.
alter table fairlead.jobs add column enqueued_by text collate "C";
alter table fairlead.jobs alter column enqueued_by set default session_user;
alter table fairlead.job_history add column enqueued_by text collate "C";
alter table fairlead.schedules add column created_by text collate "C";
alter table fairlead.schedules alter column created_by set default session_user;
comment on column fairlead.jobs.enqueued_by is
    'The login that inserted it, or made the schedule that did; a repeat has that of its original.';
comment on column fairlead.job_history.enqueued_by is 'As in jobs.';
comment on column fairlead.schedules.created_by is
    'The login that inserted it, or another that is no administrator''s and changed it since.';

-- The schema's owner, superusers, administrators, operators, schedulers and autoscalers: every job is theirs.
create function fairlead._owns_all() returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
    select fairlead._administers() or exists (
        select from pg_roles r
        where r.rolname in ('fairlead_operator', 'fairlead_scheduler', 'fairlead_autoscaler')
          and pg_has_role(session_user, r.oid, 'member'));
end;

-- Does the login act for every tenant? Without row-level security every login does. A worker's login sees no
-- tenants by being one: what it claims, its functions show.
create function fairlead._sees_all() returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
    select not o.rls or fairlead._owns_all() from fairlead.install_options o where o.only_row;
end;

create function fairlead._sees(of_tenant text) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
    select fairlead._sees_all() or exists (
        select from fairlead.tenant_logins t
        where t.login = session_user and t.tenant = of_tenant);
end;

-- Is a job of this tenant, enqueued by this login, the caller's own? With row-level security that is so by
-- tenant, else by login.
create function fairlead._owns(of_tenant text, of_login text) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
    select fairlead._owns_all() or coalesce(
        case when o.rls
             then exists (select from fairlead.tenant_logins t
                          where t.login = session_user and t.tenant = of_tenant)
             else of_login = session_user end, false)
    from fairlead.install_options o where o.only_row;
end;

-- May the caller read every job? With row-level security a reader has tenants as others have; a viewer has all.
create function fairlead._reads_all() returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
    select fairlead._owns_all() or fairlead._is_member('fairlead_viewer')
        or not o.rls and fairlead._is_member('fairlead_reader')
    from fairlead.install_options o where o.only_row;
end;

-- Whose schedules may fire as often as they say.
create function fairlead._administrators() returns text[]
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
    select array_agg(r.rolname::text) from pg_roles r, pg_namespace n
    where n.nspname = 'fairlead' and (pg_has_role(r.oid, n.nspowner, 'member')
                                      or pg_has_role(r.oid, to_regrole('fairlead_admin'), 'member'));
end;

-- Ends jobs whose rows the caller holds: they leave jobs and enter the history; they leave work_queue as
-- well, unless a handler that has completed its job has the slot still. Rows that were found are deleted by
-- their places, which cannot change meanwhile: the caller holds them.
create function fairlead._end_jobs(
    ids bigint[], outcomes text[], errors text[] default null, results jsonb[] default null
) returns void language sql
begin atomic
    with asked as materialized (
        select a.id, a.outcome, a.error, a.result
        from unnest(ids, outcomes, errors, results) as a (id, outcome, error, result)
    ), held as materialized (
        select q.ctid as place, q.job_id, q.token, q.worker, q.runnable_at, q.claimed_at, q.completed
        from fairlead.work_queue q where q.job_id = any (ids)
    ), released as (
        delete from fairlead.work_queue q
        where q.ctid = any (array(select h.place from held h where not h.completed))
        returning q.job_id, q.claimed_at
    ), gone as (
        delete from fairlead.jobs j where j.id = any (ids) returning j.*
    ), kept as (
        insert into fairlead.job_history (
            id, token, worker, created_at, due_at, runnable_at, claimed_at, finished_at, retry_of,
            attempt, max_attempts, crashes, losses, priority, outcome, queue, tenant, kind, payload,
            timeout, cost_hint, dedup_key, headers, result, error, enqueued_by)
        select g.id, h.token, h.worker, g.created_at, g.due_at, h.runnable_at, h.claimed_at,
               clock_timestamp(), g.retry_of,
               case when h.claimed_at is null then g.attempts else fairlead._one_more(g.attempts) end,
               g.max_attempts, g.crashes, g.losses,
               g.priority, a.outcome, g.queue, g.tenant, g.kind, g.payload, g.timeout, g.cost_hint,
               g.dedup_key, g.headers, a.result,
               case when a.outcome = 'succeeded' then a.error else coalesce(a.error, g.last_error) end,
               g.enqueued_by
        from gone g join asked a on a.id = g.id left join held h on h.job_id = g.id
    )
    insert into fairlead.receipts (ended, run_us)
    select array_agg(r.job_id),
           array_agg(coalesce(fairlead._epoch_us(clock_timestamp()) - fairlead._epoch_us(r.claimed_at), 0))
    from released r having count(*) > 0;
end;
