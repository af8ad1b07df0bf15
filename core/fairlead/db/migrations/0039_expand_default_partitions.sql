-- Every ending has a partition. Each class of the history has a default one, for endings of a day without a
-- partition: the clock made a step, or no partition could be made for days.

-- The name of a day's partition, and of the default one without a day.
create or replace function fairlead._history_partition(class text, day date) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
    select format('job_history_%s_%s', class, coalesce(to_char(day, 'YYYYMMDD'), 'default'))
$$;

create function fairlead._has_history_partition(class text, day date) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
    select exists (
        select from pg_inherits i
        where i.inhrelid = to_regclass(format('fairlead.%I', fairlead._history_partition(class, day)))
          and i.inhparent = to_regclass(format('fairlead.job_history_%s', class)))
$$;

-- Which days of a class have no partition: of those from yesterday to days_ahead from today, and of those whose
-- endings are in the default one. Null stands for the default one itself, and comes first.
create function fairlead._missing_history_partitions(class text, days_ahead integer) returns date[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    today constant date := (now() at time zone 'UTC')::date;
    late date[];
begin
    if fairlead._has_history_partition(class, null) then
        execute format('select array_agg(distinct (h.finished_at at time zone ''UTC'')::date) from fairlead.%I h',
                       fairlead._history_partition(class, null)) into late;
    end if;
    return array(
        select m.day from (
            select null::date union select today + n from generate_series(-1, days_ahead) n
            union select unnest(late)) as m (day)
        where not fairlead._has_history_partition(class, m.day) order by m.day nulls first);
end $$;

-- Makes the table of a partition, to be attached. It belongs to the owner of the history, whichever login
-- migrated last.
create function fairlead._make_history_table(class text, day date) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    part constant text := fairlead._history_partition(class, day);
    history_owner constant name := (
        select pg_get_userbyid(c.relowner) from pg_class c where c.oid = 'fairlead.job_history'::regclass);
begin
    if to_regclass(format('fairlead.%I', part)) is null then
        execute format('create table fairlead.%I (like fairlead.job_history including all)', part);
    end if;
    if history_owner <> current_user then
        execute format('alter table fairlead.%I owner to %I', part, history_owner);
    end if;
end $$;

-- Moves a day's endings from the default partition into that day's table; answers how many.
create function fairlead._move_late_endings(class text, day date) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    moved bigint;
begin
    execute format(
        'with moved as (delete from only fairlead.%I h'
        ' where (h.finished_at at time zone ''UTC'')::date = $1 returning h.*)'
        ' insert into fairlead.%I select m.* from moved m',
        fairlead._history_partition(class, null), fairlead._history_partition(class, day)) using day;
    get diagnostics moved = row_count;
    return moved;
end $$;

-- Takes the lock that attaching a partition takes of the default one, and gives it back: fails (55P03) while another
-- session has one that conflicts.
create function fairlead._try_lock(part text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    execute format('lock table only fairlead.%I in access exclusive mode', part);
    raise exception 'fairlead: given back';
exception when raise_exception then
    null;
end $$;

-- Makes partitions of a class: the default one for null, which comes first, and days' with their endings. LIKE and
-- ATTACH: a plain PARTITION OF takes a lock that waits for every reader, and every completion waits behind it.
--
-- Locks the parent, as a drop does, then the default partition, for which readers of the whole history and endings
-- that it takes wait. Endings move before that lock, until a pass finds few, and once more under it. Before the
-- first moves, the lock is taken and given back: another session that has it costs a try, and no moves undone.
-- What has been emptied is left to vacuum: a snapshot from before the moves sees the endings where they were.
create function fairlead._make_history_partitions(class text, days date[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    parent constant text := 'job_history_' || class;
    spare constant text := fairlead._history_partition(class, null);
    dated constant date[] := array_remove(days, null);
    day date;
begin
    execute format('lock table only fairlead.%I in share update exclusive mode', parent);
    if dated <> '{}' and fairlead._has_history_partition(class, null) then
        perform fairlead._try_lock(spare);
    end if;
    foreach day in array days loop
        perform fairlead._make_history_table(class, day);
        if day is null then
            execute format('alter table fairlead.%I attach partition fairlead.%I default', parent, spare);
            continue;
        end if;
        loop
            exit when fairlead._move_late_endings(class, day) < 1000;
        end loop;
    end loop;
    if dated <> '{}' then
        execute format('lock table only fairlead.%I in access exclusive mode', spare);
    end if;
    foreach day in array dated loop
        perform fairlead._move_late_endings(class, day);
    end loop;
    foreach day in array dated loop
        execute format(
            'alter table fairlead.%I attach partition fairlead.%I for values from (%L) to (%L)',
            parent, fairlead._history_partition(class, day),
            to_char(day, 'YYYY-MM-DD') || ' 00:00:00+00', to_char(day + 1, 'YYYY-MM-DD') || ' 00:00:00+00');
    end loop;
end $$;

-- Makes the partitions that are missing of yesterday, today and the next days_ahead days, and of days whose endings
-- are in a default one, which move; returns how many it made. Each lock is waited for 50 ms: a class of which
-- another session holds one is left for the next call, with a warning. Nothing missing: nothing is locked.
create or replace function fairlead.make_history_partitions(days_ahead integer default 14)
returns integer language plpgsql security definer
set search_path = pg_catalog, pg_temp set lock_timeout = '50ms' as $$
declare
    made integer := 0;
    class text;
    missing date[];
begin
    if not coalesce(days_ahead between 0 and 90, false) then
        raise invalid_parameter_value using message =
            'fairlead: partitions are made for 0 to 90 days ahead';
    end if;
    foreach class in array array['succeeded', 'unsuccessful'] loop
        begin
            continue when fairlead._missing_history_partitions(class, days_ahead) = '{}';
            -- One at a time, and never while a migration runs.
            lock table fairlead.schema_versions in share row exclusive mode;
            missing := fairlead._missing_history_partitions(class, days_ahead);
            perform fairlead._make_history_partitions(class, missing);
            made := made + cardinality(missing);
        exception when lock_not_available then
            raise warning 'fairlead: partitions of job_history_% are left for later: another session holds a lock',
                class;
        end;
    end loop;
    return made;
end $$;

select fairlead._make_history_partitions(c.class, array[null::date])
from unnest(array['succeeded', 'unsuccessful']) as c (class);

-- The ids of receipts go on after a crash, which empties the table: a pooler may have kept a leader's sessions, and
-- that leader reads on above the last id that it took.
alter sequence fairlead.receipts_id_seq set logged;
