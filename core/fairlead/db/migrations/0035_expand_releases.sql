-- Which release owns a database and its pools, so that a second one cannot silently replace its policy.
-- compatible-from: 35

alter table fairlead.leaders add column release text collate "C" not null default ''
    constraint leaders_release_is_at_most_128_bytes check (octet_length(release) <= 128);
comment on column fairlead.leaders.release is
    'The release that owns this database, the same in every row: only its processes may lead. Empty: the first '
    'one with a name becomes its owner.';

create table fairlead.pool_owners (
    pool    text        collate "C" primary key
        constraint pool_owners_pool_is_1_to_128_bytes check (octet_length(pool) between 1 and 128),
    release text        collate "C" not null
        constraint pool_owners_release_is_1_to_128_bytes check (octet_length(release) between 1 and 128),
    since   timestamptz not null default now()
);
comment on table fairlead.pool_owners is
    'The release whose workers serve a pool: the first one with a name whose worker came.';

-- Mends the rows of leaders that no program can acquire any more, and answers whose they are; healthy ones are
-- left alone, and whose the database is stays. A new epoch in place of an impossible one is the time in
-- microseconds: no leader can have had it.
create function fairlead.reset_leadership() returns setof text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    mended text[];
begin
    with reset as (
        insert into fairlead.leaders as l (role, epoch, release)
        select r.role, (extract(epoch from clock_timestamp()) * 1e6)::bigint,
               coalesce((select max(o.release) from fairlead.leaders o), '')
        from (values ('scheduler'), ('autoscaler')) r (role)
        where fairlead._leader_fault(r.role) is not null
        on conflict (role) do update
        set lease_until = '-infinity',
            epoch = case when l.epoch between 0 and (1::bigint << 62) - 1 then l.epoch + 1
                         else excluded.epoch end
        returning l.role
    )
    select array_agg(r.role) into mended from reset r;
    if mended is not null then
        perform fairlead._record_audit(
            'reset_leadership', details => jsonb_build_object('roles', mended));
        perform fairlead._notify('fairlead_leader', '');
    end if;
    return query select m.role from unnest(mended) as m (role);
end $$;

-- Gives the database to a release: from now on only its processes may lead, and the pools of the former owner
-- are its own. Answers the former owner; the same again changes nothing.
create function fairlead._take_over(release text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    former text;
begin
    perform from fairlead.leaders l order by l.role for update;
    select max(l.release) into former from fairlead.leaders l;
    if former = _take_over.release then
        return former;
    end if;
    -- A new epoch: what the former owner's leaders still write changes nothing.
    update fairlead.leaders l
    set release = _take_over.release, epoch = l.epoch + 1, lease_until = '-infinity';
    update fairlead.pool_owners p set release = _take_over.release, since = now()
    where p.release = former;
    perform fairlead._record_audit(
        'take_over', details => jsonb_build_object('from', former, 'to', _take_over.release));
    perform fairlead._notify('fairlead_leader', '');
    return former;
end $$;

-- Gives a pool to a release, or to whichever comes first; answers the former owner, or null.
create function fairlead._assign_pool(pool text, release text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    former text;
begin
    delete from fairlead.pool_owners p where p.pool = _assign_pool.pool returning p.release into former;
    if _assign_pool.release <> '' then
        insert into fairlead.pool_owners (pool, release) values (_assign_pool.pool, _assign_pool.release);
    end if;
    if _assign_pool.release is distinct from coalesce(former, '') then
        perform fairlead._record_audit('assign_pool', details => jsonb_build_object(
            'pool', _assign_pool.pool, 'from', former, 'to', _assign_pool.release));
    end if;
    return former;
end $$;
