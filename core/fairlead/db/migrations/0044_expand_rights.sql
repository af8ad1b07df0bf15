-- No login of a service or an application may lock a table against the others, or another role's rows for long.

-- LOCK TABLE wants UPDATE, DELETE or TRUNCATE on the whole table, which DELETE always is: schedules and drain marks
-- are removed by functions. roles.sql grants UPDATE by column.

-- Removes a tenant's schedules of the caller's, or the one of a name; jobs that they made stay. Answers how many.
create function fairlead.remove_schedules(tenant text, name text default null) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    removed integer;
begin
    delete from fairlead.schedules s
    where s.tenant = remove_schedules.tenant and (remove_schedules.name is null or s.name = remove_schedules.name)
      and fairlead._owns(s.tenant, s.created_by);
    get diagnostics removed = row_count;
    return removed;
end $$;

-- Removes pods' drain marks and notifies their workers; nothing under another epoch. One that another session has
-- locked stays until it lapses: a worker's login may hold any by registering.
create function fairlead._unmark_drains(my_epoch bigint, pods text[]) returns setof text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if not fairlead._autoscaler_leads(my_epoch) then
        return;
    end if;
    return query
    with unmarked as (
        delete from fairlead.pod_drains m
        where m.pod_uid in (
            select f.pod_uid from fairlead.pod_drains f where f.pod_uid = any (pods) for update skip locked)
        returning m.pod_uid
    )
    select u.pod_uid from unmarked u, pg_notify('fairlead_cancel', u.pod_uid);
end $$;

-- Deletes drain marks of pods that lapsed an hour ago and were not renewed since, but those that another session has
-- locked; nothing under another leader's epoch. A function, for a DELETE would let the scheduler's login lock them all.
create function fairlead._forget_drains(my_epoch bigint) returns setof text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if not fairlead._leads(my_epoch) then
        return;
    end if;
    return query
    delete from fairlead.pod_drains d
    where d.pod_uid in (
        select f.pod_uid from fairlead.pod_drains f
        where f.drain_until < now() - interval '1 hour' for update skip locked)
    returning d.pod_uid;
end $$;

-- Answers the owner of the database, which the caller becomes if there is none and it has a name. The scheduler's
-- row decides. Beside the owner only the autoscaler locks its own, perhaps for long: that one follows when it can.
create or replace function fairlead._own_database(release text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    found_owner text := (select max(l.release) from fairlead.leaders l);
begin
    if found_owner = '' and _own_database.release <> '' then
        update fairlead.leaders l set release = _own_database.release
        where l.role = (select max(o.role) from fairlead.leaders o) and l.release = '';
        -- A second statement, and so a new snapshot: another release may have been first.
        found_owner := (select max(l.release) from fairlead.leaders l);
    end if;
    if found_owner <> '' and exists (select from fairlead.leaders l where l.release = '') then
        update fairlead.leaders l set release = found_owner
        where l.role = any (array(
            select o.role from fairlead.leaders o where o.release = '' order by o.role
            for no key update skip locked));
    end if;
    return found_owner;
end $$;

-- Answers the owner of a pool, which the caller becomes if there is none and it has a name. While another session has
-- the pool and does not commit, whose it will be is open: after a second the caller may serve it, and asks again at
-- its next start.
create or replace function fairlead._own_pool(pool text, release text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
declare
    found_owner text;
begin
    if not fairlead._may_serve(_own_pool.pool) then
        raise exception 'fairlead: login % may not serve pool %', session_user, _own_pool.pool
            using errcode = 'insufficient_privilege',
                  hint = 'fairlead.pool_logins lists the pools that it may serve.';
    end if;
    select p.release into found_owner from fairlead.pool_owners p where p.pool = _own_pool.pool;
    if found or _own_pool.release = '' then
        return coalesce(found_owner, '');
    end if;
    begin
        insert into fairlead.pool_owners (pool, release) values (_own_pool.pool, _own_pool.release)
        on conflict on constraint pool_owners_pkey do nothing;
    exception when lock_not_available then
        return _own_pool.release;
    end;
    return coalesce((select p.release from fairlead.pool_owners p where p.pool = _own_pool.pool), '');
end $$;

-- Retries failed jobs whose endings lie behind (after_at, after_id), oldest first: looks at 10,000 at
-- most and makes jobs_max at most. Answers how many it made and where to go on, which is no place when
-- nothing lies behind.
create or replace function fairlead._redrive(
    queue text, tenant text, kind text, after_at timestamptz, after_id bigint, jobs_max integer,
    out made integer, out reached_at timestamptz, out reached_id bigint
) language plpgsql security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_sort = off set jit = off as $$
declare
    looked_max constant integer := 10000;
    old_ids bigint[];
    new_ids bigint[];
    first_at timestamptz;
    last_at timestamptz;
begin
    perform fairlead._require_read_committed();
    -- One redrive at a time, so that two cannot wait for each other's dedup keys. The next statement's
    -- snapshot has all that an earlier one made. Nobody but the owner can lock this row.
    perform from fairlead.schema_versions v where v.version = 1 for no key update;
    with looked as materialized (
        select h.id, h.finished_at, h.tenant, h.kind, h.dedup_key, h.payload is not null as kept
        from fairlead.job_history_unsuccessful h
        where h.outcome = 'failed' and h.retried_as is null and h.queue = _redrive.queue
          and h.finished_at >= _redrive.after_at
          and (h.finished_at, h.id) > (_redrive.after_at, _redrive.after_id)
        order by h.finished_at, h.id limit looked_max
    ), picked as materialized (
        select l.id, l.finished_at from looked l
        where l.kept and (_redrive.tenant is null or l.tenant = _redrive.tenant)
          and (_redrive.kind is null or l.kind = _redrive.kind) and fairlead._sees(l.tenant)
          and not exists (
              select from fairlead.jobs k
              where k.queue = _redrive.queue and k.tenant = l.tenant and k.dedup_key = l.dedup_key
              offset 0)
        limit _redrive.jobs_max
    )
    select p.ids, p.first_at, p.last_at, e.finished_at, e.id
    into old_ids, first_at, last_at, reached_at, reached_id
    from (select array_agg(p.id) as ids, min(p.finished_at) as first_at, max(p.finished_at) as last_at,
                 count(*) >= _redrive.jobs_max as full from picked p) p
    left join lateral (
        (select k.finished_at, k.id from picked k
         where p.full order by k.finished_at desc, k.id desc limit 1)
        union all
        (select l.finished_at, l.id from looked l
         where not p.full and (select count(*) from looked) = looked_max
         order by l.finished_at desc, l.id desc limit 1)) e on true;
    with inserted as (
        insert into fairlead.jobs (
            queue, tenant, kind, payload, priority, dedup_key, max_attempts, timeout, cost_hint,
            headers, retry_of, enqueued_by)
        select h.queue, h.tenant, h.kind, h.payload, h.priority, h.dedup_key, h.max_attempts,
               h.timeout, h.cost_hint, h.headers, h.id, h.enqueued_by
        from (
            -- One that is locked is being retried.
            select * from fairlead.job_history_unsuccessful u
            where u.id = any (old_ids) and u.finished_at >= first_at and u.finished_at <= last_at
              and u.outcome = 'failed' and u.retried_as is null
            order by u.finished_at, u.id
            for update skip locked) h
        on conflict do nothing
        returning id, retry_of
    )
    select array_agg(i.retry_of order by i.retry_of), array_agg(i.id order by i.retry_of), count(*)
    into old_ids, new_ids, made
    from inserted i;
    -- Each finds the job that repeats it by its place among the sorted ids.
    update fairlead.job_history_unsuccessful h
    set retried_as = new_ids[width_bucket(h.id, old_ids)]
    where h.id = any (old_ids) and h.finished_at >= first_at and h.finished_at <= last_at
      and h.outcome = 'failed';
    if made > 0 then
        perform fairlead._record_audit(
            'redrive', queue => _redrive.queue, tenant => _redrive.tenant,
            details => jsonb_strip_nulls(jsonb_build_object('kind', _redrive.kind, 'jobs', made)));
    end if;
end $$;
