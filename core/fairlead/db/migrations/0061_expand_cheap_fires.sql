-- A fire costs what is stored for it, whatever is in its payload, and a leader's renewal waits for none.
--
-- A payload was checked by walks through all of it, 0.3 s for 1 MiB of small values, when a job was inserted, when a
-- schedule was, and, as checks of a table are, at each change of a schedule's row. A fire does both. A hundred
-- schedules of one login, due at once, were more than the leader's statements have time for, and no schedule fired.

-- Python refuses to read an integer of over 4300 digits, and 1000 levels of nesting. Each walks through a value only
-- where its text could have one: digits in a row, since jsonb writes no exponents, or as many brackets.
create function fairlead._has_huge_number(value jsonb, written text) returns boolean
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
    return written ~ '[0-9]{200}' and written ~ '([0-9]{200}){20}[0-9]' and jsonb_path_exists(
        value, 'strict $.** ? (@.type() == "number" && (@ >= 1e4000 || @ <= -1e4000))');
end $$;

create function fairlead._is_too_deep(value jsonb, written text) returns boolean
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
    return octet_length(written) - octet_length(replace(replace(written, '[', ''), '{', '')) >= 500
       and jsonb_path_exists(value, '$.**{500}');
end $$;

-- Admits a row that is not ordinary, or refuses it as a CHECK would: same SQLSTATE, a constraint's name that says
-- what is wanted.
create function fairlead._admit_unusual(job fairlead.jobs) returns fairlead.jobs
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    declare
        -- The size is that of the text, since that is what a claim returns: 1e131071 takes 20 bytes stored.
        payload_text text := job.payload::text;
        headers_text text := job.headers::text;
        payload_bytes integer := octet_length(payload_text);
        headers_bytes integer := octet_length(headers_text);
        broken text := case
            when octet_length(job.queue) not between 1 and 128
            then 'jobs_queue_is_1_to_128_bytes'
            when octet_length(job.tenant) > 128
            then 'jobs_tenant_is_at_most_128_bytes'
            when octet_length(job.kind) not between 1 and 128
            then 'jobs_kind_is_1_to_128_bytes'
            when payload_bytes > 1048576
                 or payload_bytes > 4000 and fairlead._has_huge_number(job.payload, payload_text)
            then 'jobs_payload_is_at_most_1_mib_and_its_numbers_below_1e4000'
            when payload_bytes > 1000 and fairlead._is_too_deep(job.payload, payload_text)
            then 'jobs_payload_is_nested_at_most_500_deep'
            when jsonb_typeof(job.headers) <> 'object' or headers_bytes > 8192
            then 'jobs_headers_are_an_object_of_at_most_8_kib'
            when headers_bytes > 1000 and (fairlead._is_too_deep(job.headers, headers_text)
                                           or fairlead._has_huge_number(job.headers, headers_text))
            then 'jobs_headers_are_nested_at_most_500_deep_numbers_below_1e4000'
            when octet_length(job.dedup_key) not between 1 and 256
            then 'jobs_dedup_key_is_1_to_256_bytes'
            when job.priority not between -100 and 100
            then 'jobs_priority_is_between_minus_100_and_100'
            when job.max_attempts not between 1 and 1000
            then 'jobs_max_attempts_is_between_1_and_1000'
            when job.timeout not between interval '1 millisecond' and interval '30 days'
            then 'jobs_timeout_is_between_1_ms_and_30_days'
            when job.cost_hint not between interval '1 microsecond' and interval '30 days'
            then 'jobs_cost_hint_is_between_1_us_and_30_days'
            when job.run_at < '1970-01-01 00:00+00' or job.run_at >= '9999-01-01 00:00+00'
            then 'jobs_run_at_is_between_1970_and_9999'
            when job.expires_at < '1970-01-01 00:00+00' or job.expires_at >= '9999-01-01 00:00+00'
            then 'jobs_expires_at_is_between_1970_and_9999'
        end;
        field text := substring(broken from '^jobs_(.+?)_(?:is|are)_');
    begin
        if broken is not null then
            raise check_violation using
                message = format('new row for relation "jobs" violates check constraint "%s"', broken),
                detail = format('%s is %s.', field, case field
                    when 'payload' then payload_bytes || ' bytes of JSON'
                    when 'headers' then headers_bytes || ' bytes of JSON'
                    else quote_literal(left(to_jsonb(job) ->> field, 300)) end),
                schema = 'fairlead', table = 'jobs', column = field, constraint = broken;
        end if;
    end;
    if pg_sequence_last_value('fairlead.backlog_gate')
       & (fairlead._backlog_bit(job.queue)
          | fairlead._backlog_bit(job.queue || '/' || job.tenant)) <> 0 then
        perform fairlead._has_room(job.queue, job.tenant, job.dedup_key, job.retry_of);
    end if;
    -- One that is due already is pending at once: it would wait for a promotion otherwise.
    if job.run_at <= now() then
        job.due_at := job.run_at;
        job.run_at := null;
    end if;
    return job;
end $$;

-- A schedule's payload is checked when it is stored, and not again when something else of its row changes.
create function fairlead._admit_schedule() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    payload_text constant text := new.payload::text;
    payload_bytes constant integer := octet_length(payload_text);
    broken constant text := case
        when payload_bytes > 1048576
             or payload_bytes > 4000 and fairlead._has_huge_number(new.payload, payload_text)
        then 'schedules_payload_is_at_most_1_mib_and_numbers_below_1e4000'
        when payload_bytes > 1000 and fairlead._is_too_deep(new.payload, payload_text)
        then 'schedules_payload_is_nested_at_most_500_deep'
    end;
begin
    if broken is not null then
        raise check_violation using
            message = format('new row for relation "schedules" violates check constraint "%s"', broken),
            detail = format('payload is %s bytes of JSON.', payload_bytes),
            schema = 'fairlead', table = 'schedules', column = 'payload', constraint = broken;
    end if;
    return new;
end $$;
create trigger schedules_admit before insert or update of payload on fairlead.schedules
    for each row execute function fairlead._admit_schedule();

-- A schedule's row is changed at each of its fires. Whether more of it has changed, which the audit log is to say, was
-- found by comparing payloads, as long as their text. It is counted now.
alter table fairlead.schedules add column changes bigint not null default 0;
comment on column fairlead.schedules.changes is 'How often more of it was changed than how far it has fired.';
create function fairlead._count_schedule_change() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    new.changes := old.changes + 1;
    return new;
end $$;
create trigger schedules_count_change before update of
        cron, timezone, missed, enabled, queue, kind, payload, priority, max_attempts, timeout, expires_in, headers,
        created_by, changes
    on fairlead.schedules for each row execute function fairlead._count_schedule_change();

-- Inserts the jobs of a batch of schedules' fires, as a leader, each fire once whichever leader fires it, as jobs of
-- the logins that made the schedules, and records how far each has been considered. Passes over a schedule that has changed
-- since it was read, or that another session has locked; returns the places of the others.
--
-- A large payload was checked when its schedule was stored: its job is inserted without it and gets it as it is stored,
-- which unpacks nothing. The schedule's row is locked meanwhile.
create function fairlead._fire(
    my_epoch bigint, tenants text[], names text[], crons text[], timezones text[], considered_us bigint[],
    problems text[], fire_places bigint[], fires_us bigint[]
) returns setof bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    found_places bigint[];
    large_ids bigint[];
    large_tenants text[];
    large_names text[];
begin
    perform fairlead._require_read_committed();
    if not fairlead._leads(my_epoch) then
        return;
    end if;
    with asked as materialized (
        select a.* from unnest(tenants, names, crons, timezones, _fire.considered_us, problems)
            with ordinality as a (tenant, name, cron, timezone, considered_us, fault, place)
    ), schedule as materialized (
        select s.*, a.place, a.considered_us, a.fault,
               pg_column_size(s.payload) >= 1000 or pg_column_compression(s.payload) is not null as large
        from asked a join fairlead.schedules s on s.tenant = a.tenant and s.name = a.name
        where s.cron = a.cron and s.timezone = a.timezone and s.enabled
        for update of s skip locked
    ), fires as (
        insert into fairlead.schedule_fires (tenant, schedule, fire_time)
        select s.tenant, s.name, to_timestamp(f.fire_us / 1e6)
        from schedule s
        join unnest(fire_places, fires_us) as f (place, fire_us) on f.place = s.place
        on conflict (tenant, schedule, fire_time) do nothing
        returning tenant, schedule, fire_time
    ), inserted as (
        insert into fairlead.jobs (
            queue, tenant, kind, payload, priority, max_attempts, timeout, expires_at, headers,
            enqueued_by)
        select s.queue, s.tenant, s.kind, case when s.large then '{}' else s.payload end, s.priority,
               s.max_attempts, s.timeout, f.fire_time + s.expires_in,
               s.headers || jsonb_build_object(
                   'fairlead.schedule', s.name,
                   'fairlead.fire_time', to_char(f.fire_time at time zone 'UTC',
                                                 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
               s.created_by
        from fires f join schedule s on s.tenant = f.tenant and s.name = f.schedule
        returning id, tenant, headers ->> 'fairlead.schedule' as schedule
    ), considered as (
        update fairlead.schedules s
        set considered_until = greatest(s.considered_until, to_timestamp(c.considered_us / 1e6)),
            problem = c.fault
        from schedule c where s.tenant = c.tenant and s.name = c.name
    )
    select (select array_agg(c.place) from schedule c),
           array_agg(i.id) filter (where s.large), array_agg(i.tenant) filter (where s.large),
           array_agg(i.schedule) filter (where s.large)
    into found_places, large_ids, large_tenants, large_names
    from inserted i join schedule s on s.tenant = i.tenant and s.name = i.schedule;
    update fairlead.jobs j set payload = s.payload
    from unnest(large_ids, large_tenants, large_names) as l (id, tenant, name)
    join fairlead.schedules s on s.tenant = l.tenant and s.name = l.name
    where j.id = l.id;
    return query select f.place from unnest(found_places) as f (place);
end $$;

-- Does this epoch lead? Holds the leader's row, so that a take-over waits for this statement, and the leader's
-- renewal does not: that changes no key of the row, and a new epoch does. No epoch outlasts a fail-over: places and
-- ids of jobs that are lost may be given again, so what a leader remembers of lanes and of the newest id would hide
-- jobs from it.
create unique index leaders_epoch on fairlead.leaders (role, epoch);
create function fairlead._leads(my_epoch bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform from fairlead.leaders l
    where l.role = 'scheduler' and l.epoch = my_epoch and l.timeline = fairlead._timeline()
      and (l.login is null or l.login = session_user or fairlead._acts_for(l.login)) for key share;
    return found;
end $$;
