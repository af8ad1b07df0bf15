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
    select u.pod_uid from unmarked u, fairlead._notify('fairlead_cancel', u.pod_uid);
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
