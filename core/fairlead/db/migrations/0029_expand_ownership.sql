-- compatible-from: 29
-- Who leads is written by functions alone, one set for each role's row: what a login may do to a row
-- cannot be bounded by a grant, not even for reading it FOR SHARE, which needs the right to change it.
-- The history belongs to the schema's owner, and functions make and drop its partitions.
--
-- The functions that take and renew the lead follow in 0056_expand_leader_login.sql.

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
