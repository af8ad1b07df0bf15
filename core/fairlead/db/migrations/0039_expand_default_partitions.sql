-- Every ending has a partition. Each class of the history has a default one, for endings of a day without a
-- partition: the clock made a step, or no partition could be made for days.

-- The name of a day's partition, and of the default one without a day.
create function fairlead._history_partition(class text, day date) returns text
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

-- Makes the table of a partition, to be attached. It belongs to the owner of the history, whichever login migrated
-- last. What jobs carried stays out of its statistics, see 0068_expand_own_words.sql.
create function fairlead._make_history_table(class text, day date) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    part constant text := fairlead._history_partition(class, day);
    history_owner constant name := (
        select pg_get_userbyid(c.relowner) from pg_class c where c.oid = 'fairlead.job_history'::regclass);
begin
    if to_regclass(format('fairlead.%I', part)) is null then
        execute format('create table fairlead.%I (like fairlead.job_history including all)', part);
        execute format(
            'alter table fairlead.%I alter payload set statistics 0, alter headers set statistics 0,'
            ' alter dedup_key set statistics 0, alter result set statistics 0, alter error set statistics 0', part);
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
-- that it takes wait. Endings move before that lock, until a pass finds none, five times at most, and once more under
-- it: a thousand of 1 MiB each that moved under it kept everybody from the default partition. All that a call moves
-- it moves in one transaction, whatever it has of bytes: in the table of a day that is not attached yet nobody would
-- find them. Before the first moves, the lock is taken and given back: another session that has it costs a try, and
-- no moves undone. What has been emptied is left to vacuum: a snapshot from before the moves sees the endings where
-- they were.
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
        for pass in 1..5 loop
            exit when fairlead._move_late_endings(class, day) = 0;
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

select fairlead._make_history_partitions(c.class, array[null::date])
from unnest(array['succeeded', 'unsuccessful']) as c (class);

-- The ids of receipts go on after a crash, which empties the table: a pooler may have kept a leader's sessions, and
-- that leader reads on above the last id that it took.
alter sequence fairlead.receipts_id_seq set logged;
