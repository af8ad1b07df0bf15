-- A worker's login reads no table and writes none: it calls functions, which serve it only what it has
-- claimed. A login may be bound to pools.
--
-- The functions for claims and endings follow in 0032_expand_attempts.sql and later ones. All of them are planned
-- as a service's sessions are, see fairlead.db.connect: a plan that was made while a table was empty must not be a
-- scan when it holds a million rows, and behind PgBouncer nothing else says so. Before PostgreSQL 18 a plan that
-- has to use what a function switches off is priced beyond every threshold of JIT: such a function switches JIT
-- off, too.
-- compatible-from: 30

create table fairlead.pool_logins (
    login name not null,
    pool  text collate "C" not null,
    primary key (login, pool)
);
comment on table fairlead.pool_logins is
    'The pools that a worker''s login may serve. A login that is not listed, and is a member of none that is, may '
    'serve all.';

alter table fairlead.worker_leases add column login name not null default session_user;
comment on column fairlead.worker_leases.login is
    'The login that registered it; with members of that login it alone acts for the worker.';

-- --- who may do what ---------------------------------------------------------------------------------

-- The schema's owner, superusers and administrators.
create function fairlead._administers() returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
    select session_user = (select pg_get_userbyid(n.nspowner) from pg_namespace n where n.nspname = 'fairlead')
        or (select r.rolsuper from pg_roles r where r.rolname = session_user)
        or fairlead._is_member('fairlead_admin');
end;

-- Whether this session may act for workers of a login: as that login, as a member of it, or as an
-- administrator. Null, a login that is gone: as an administrator alone.
create function fairlead._acts_for(login name) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return coalesce(login = session_user, false)
        or coalesce(pg_has_role(session_user, to_regrole(quote_ident(login)), 'member'), false)
        or fairlead._administers();
end $$;

-- Whether this session may serve a pool. A member of a listed login is as bound as that login.
create function fairlead._may_serve(pool text) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    if not exists (select from fairlead.pool_logins) or fairlead._administers() then
        return true;
    end if;
    return coalesce((
        select bool_or(l.pool = _may_serve.pool) from fairlead.pool_logins l
        where pg_has_role(session_user, to_regrole(quote_ident(l.login)), 'member')), true);
end $$;

-- For how long an attempt is charged: what its worker says, within 0 and the time since its claim; null:
-- all of that. Not by clock_timestamp, with which it would not be inlined and take 6 us for each job.
create function fairlead._charged_us(run_us bigint, claimed_at timestamptz) returns bigint
language sql stable parallel safe
return least(greatest(coalesce(run_us, 9223372036854775807), 0),
             greatest(fairlead._epoch_us(statement_timestamp()) - fairlead._epoch_us(claimed_at), 0));

-- --- the worker's row --------------------------------------------------------------------------------

-- Marks workers dead, so that they can claim and renew no more and nothing waits for their leases. A repeat
-- changes nothing.
create function fairlead.deregister_workers(workers bigint[]) returns setof bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
begin
    return query
    update fairlead.worker_leases w set dead_at = now()
    where w.dead_at is null and w.id = any (array(
        select l.id from fairlead.worker_leases l
        where l.id = any (workers) and l.dead_at is null and fairlead._acts_for(l.login)
        order by l.id for update))
    returning w.id;
end $$;

-- The workers of one name and pod that are not marked dead, and for which this session acts.
create function fairlead._predecessors(name text, pod_uid text) returns setof bigint
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
begin
    return query
    select w.id from fairlead.worker_leases w
    where w.dead_at is null and w.name = _predecessors.name
      and w.pod_uid is not distinct from _predecessors.pod_uid and fairlead._acts_for(w.login)
    order by w.id;
end $$;

-- The attempts that are leased to some workers, claimed no later than an instant of the database's clock
-- (null: any).
create function fairlead._leased(workers bigint[], claimed_until timestamptz)
returns table (job_id bigint, token bigint)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
begin
    return query
    select q.job_id, q.token from fairlead.work_queue q
    where q.worker = any (array(
        select w.id from fairlead.worker_leases w
        where w.id = any (workers) and fairlead._acts_for(w.login)))
      and q.claimed_at <= coalesce(claimed_until, 'infinity')
    order by q.job_id;
end $$;
