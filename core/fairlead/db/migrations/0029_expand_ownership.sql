-- compatible-from: 29
-- Who leads is written by functions alone, one set for each role's row: what a login may do to a row
-- cannot be bounded by a grant, not even for reading it FOR SHARE, which needs the right to change it.
-- The history belongs to the schema's owner, and functions make and drop its partitions.

-- Why a row of leaders cannot be acquired by waiting; null if it can. A lease lasts a minute at most, and
-- epochs are counted by ones: only a mistake by hand, or a damaged row, brings others.
create function fairlead._leader_fault(of_role text) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
    select case
        when l.role is null then 'its row is missing'
        when l.epoch not between 0 and 1::bigint << 62 then format('its epoch is %s', l.epoch)
        when l.role = 'scheduler' and l.lease_until > clock_timestamp() + interval '10 minutes'
            then format('its lease ends at %s', l.lease_until)
    end
    from (values (of_role)) asked (role) left join fairlead.leaders l on l.role = asked.role
$$;

create function fairlead._check_leader(my_name text, lease_seconds double precision) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if not coalesce(octet_length(my_name) between 1 and 512, false) then
        raise invalid_parameter_value using message =
            'fairlead: a leader''s name has 1 to 512 bytes';
    end if;
    if not coalesce(lease_seconds between 0.1 and 60, false) then
        raise invalid_parameter_value using message =
            'fairlead: a leader''s lease lasts for 0.1 to 60 seconds';
    end if;
end $$;

-- Acquires the scheduler's lease if none is in force or this process held the last one. Answers the new
-- epoch, or null; and where waiting will not help, why.
create function fairlead._acquire_leadership(
    my_name text, lease_seconds double precision, out epoch bigint, out fault text
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform fairlead._check_leader(my_name, lease_seconds);
    fault := fairlead._leader_fault('scheduler');
    if fault is null then
        update fairlead.leaders l
        set holder = my_name, epoch = l.epoch + 1, taken_at = now(),
            lease_until = now() + make_interval(secs => lease_seconds)
        where l.role = 'scheduler' and (l.lease_until < now() or l.holder = my_name)
        returning l.epoch into _acquire_leadership.epoch;
    end if;
end $$;

-- Extends the lease of this epoch; null when another epoch is in force or the lease was released.
create function fairlead._renew_leadership(my_epoch bigint, lease_seconds double precision)
returns bigint language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform fairlead._check_leader('-', lease_seconds);
    update fairlead.leaders l
    set lease_until = now() + make_interval(secs => lease_seconds)
    where l.role = 'scheduler' and l.epoch = my_epoch and l.lease_until > '-infinity';
    return case when found then my_epoch end;
end $$;

-- Releases the lease of this epoch and notifies the standbys.
create function fairlead._release_leadership(my_epoch bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update fairlead.leaders l set lease_until = '-infinity'
    where l.role = 'scheduler' and l.epoch = my_epoch;
    if found then
        perform pg_notify('fairlead_leader', my_epoch::text);
    end if;
end $$;

-- Does this epoch lead? Holds the leader's row, so that a take-over waits for this statement.
create or replace function fairlead._leads(my_epoch bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform from fairlead.leaders l
    where l.role = 'scheduler' and l.epoch = my_epoch for share;
    return found;
end $$;

-- The same for the autoscaler, whose lease is a Lease of Kubernetes: only the epoch is kept here.
create function fairlead._autoscaler_leads(my_epoch bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform from fairlead.leaders l
    where l.role = 'autoscaler' and l.epoch = my_epoch for share;
    return found;
end $$;

-- Begins a new epoch of the autoscaler and returns it, so that no earlier controller can write any more.
-- SQLSTATE FL006: the row cannot be used until it is mended.
create function fairlead._begin_autoscaler_epoch(my_name text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    fault constant text := fairlead._leader_fault('autoscaler');
    begun bigint;
begin
    perform fairlead._check_leader(my_name, 1);
    if fault is not null then
        raise exception 'fairlead: the autoscaler cannot lead: in fairlead.leaders %: an administrator mends it '
                        'with "select fairlead.reset_leadership()"', fault
            using errcode = 'FL006';
    end if;
    update fairlead.leaders l
    set holder = my_name, epoch = l.epoch + 1, taken_at = now(), lease_until = 'infinity'
    where l.role = 'autoscaler' returning l.epoch into begun;
    return begun;
end $$;

-- Mends the rows of leaders that no program can acquire any more, and answers whose they are; healthy
-- ones are left alone. A new epoch in place of an impossible one is the time in microseconds: no leader
-- can have had it.
create function fairlead.reset_leadership() returns setof text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    return query
    insert into fairlead.leaders as l (role, epoch)
    select r.role, (extract(epoch from clock_timestamp()) * 1e6)::bigint
    from (values ('scheduler'), ('autoscaler')) r (role)
    where fairlead._leader_fault(r.role) is not null
    on conflict (role) do update
    set lease_until = '-infinity',
        epoch = case when l.epoch between 0 and (1::bigint << 62) - 1 then l.epoch + 1
                     else excluded.epoch end
    returning l.role;
    perform pg_notify('fairlead_leader', '');
end $$;

-- Makes the partitions of today and the next days_ahead days; returns how many it made. LIKE and ATTACH,
-- with a short lock_timeout set by the caller: a plain PARTITION OF takes a lock that waits for every
-- reader, and every completion waits behind it. Twice is the same as once.
create or replace function fairlead.make_history_partitions(days_ahead integer default 14)
returns integer language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    made integer := 0;
    class text;
    day date;
    part text;
    history_owner name;
begin
    if not coalesce(days_ahead between 0 and 90, false) then
        raise invalid_parameter_value using message =
            'fairlead: partitions are made for 0 to 90 days ahead';
    end if;
    -- One at a time, and never while a migration runs.
    lock table fairlead.schema_versions in share row exclusive mode;
    foreach class in array array['succeeded', 'unsuccessful'] loop
        for day in select d::date from generate_series(
            (now() at time zone 'UTC')::date - 1,
            (now() at time zone 'UTC')::date + days_ahead, interval '1 day') d
        loop
            part := fairlead._history_partition(class, day);
            if exists (
                select from pg_inherits
                where inhrelid = to_regclass(format('fairlead.%I', part))
                  and inhparent = to_regclass(format('fairlead.job_history_%s', class))
            ) then
                continue;
            end if;
            if to_regclass(format('fairlead.%I', part)) is null then
                execute format(
                    'create table fairlead.%I (like fairlead.job_history including all)', part);
            end if;
            -- Every partition belongs to the owner of the history, whichever login migrated last.
            select pg_get_userbyid(c.relowner) into history_owner from pg_class c
            where c.oid = 'fairlead.job_history'::regclass;
            if history_owner <> current_user then
                execute format('alter table fairlead.%I owner to %I', part, history_owner);
            end if;
            execute format(
                'alter table fairlead.job_history_%s attach partition fairlead.%I '
                'for values from (%L) to (%L)',
                class, part,
                to_char(day, 'YYYY-MM-DD') || ' 00:00:00+00',
                to_char(day + 1, 'YYYY-MM-DD') || ' 00:00:00+00');
            made := made + 1;
        end loop;
    end loop;
    return made;
end $$;

-- Does the next step with one partition of the history that is past its retention: empties it, or drops
-- it when it is empty. Answers what it did, and which partitions it had to leave for now because another
-- session holds a lock. Nothing left: no row, or only locked ones.
--
-- Emptying locks the old partition alone, which no completion needs. Dropping locks its parent, through
-- which every completion goes, so it waits for 50 ms at most, once for each class of outcome.
create function fairlead.drop_history_partitions(succeeded_days integer, unsuccessful_days integer)
returns table (partition text, step text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp set lock_timeout = '50ms' as $$
declare
    old record;
    locked text[] := '{}';
begin
    if not coalesce(succeeded_days between 1 and 3650 and unsuccessful_days between 1 and 3650, false) then
        raise invalid_parameter_value using message =
            'fairlead: the history is kept for 1 to 3650 days';
    end if;
    for old in
        select c.relname as name, r.class, pg_relation_size(c.oid) > 0 as has_rows
        from unnest(array['succeeded', 'unsuccessful'], array[succeeded_days, unsuccessful_days])
            as r (class, days)
        join pg_class c on c.relnamespace = 'fairlead'::regnamespace and c.relkind = 'r'
            and c.relname ~ ('^job_history_' || r.class || '_[0-9]{8}$')
            and c.relname::text < fairlead._history_partition(
                r.class, (now() at time zone 'UTC')::date - r.days)
        order by has_rows desc, c.relname limit 1000
    loop
        continue when not old.has_rows and old.class = any (locked);
        partition := old.name;
        begin
            step := case when old.has_rows then 'emptied' else 'dropped' end;
            execute format(case when old.has_rows then 'truncate only fairlead.%I'
                                else 'drop table fairlead.%I' end, old.name);
            return next;
            return;
        exception when lock_not_available then
            step := 'locked';
            return next;
            locked := locked || case when old.has_rows then '' else old.class end;
            exit when cardinality(locked) > 3;  -- each of them took the timeout
        end;
    end loop;
end $$;
