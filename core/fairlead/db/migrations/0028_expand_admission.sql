-- No login can store a job that stops the services, and a job that one stored nevertheless stops none of them.

-- A function looks names up in the search path of its caller unless it has one of its own, and a login that
-- owns a schema could put its own operators before those of the admission. Setting a search path took the
-- admission 0.3 us for each row on PostgreSQL 18 and 1.4 on 15, of 6 and 7, so what an ordinary row meets
-- does without: the names here were resolved when it was made, and it is inlined.
create function fairlead._is_ordinary(
    queue text, tenant text, kind text, priority smallint, max_attempts integer, payload jsonb, retry_of bigint,
    run_at timestamptz, expires_at timestamptz, timeout interval, cost_hint interval, dedup_key text,
    headers jsonb
) returns boolean language sql
return num_nonnulls(run_at, expires_at, timeout, cost_hint, dedup_key, headers) = 0
       and octet_length(queue) between 1 and 128 and octet_length(tenant) <= 128
       and octet_length(kind) between 1 and 128 and priority between -100 and 100
       and max_attempts between 1 and 1000 and octet_length(payload::text) < 1000
       and (pg_sequence_last_value('fairlead.backlog_gate') is null
            or pg_sequence_last_value('fairlead.backlog_gate')
               & (fairlead._backlog_bit(queue) | fairlead._backlog_bit(queue || '/' || tenant)) = 0
            or fairlead._has_room(queue, tenant, null, retry_of));

-- Admits any other row, or refuses it as a CHECK would: same SQLSTATE, a constraint's name that says what is
-- wanted.
create function fairlead._admit_unusual(job fairlead.jobs) returns fairlead.jobs
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    declare
        -- Python refuses to read an integer of over 4300 digits and 1000 levels of nesting. The size
        -- is that of the text, since that is what a claim returns: 1e131071 takes 20 bytes stored.
        numbers constant jsonpath :=
            'strict $.** ? (@.type() == "number" && (@ >= 1e4000 || @ <= -1e4000))';
        payload_bytes integer := octet_length(job.payload::text);
        headers_bytes integer := octet_length(job.headers::text);
        broken text := case
            when octet_length(job.queue) not between 1 and 128
            then 'jobs_queue_is_1_to_128_bytes'
            when octet_length(job.tenant) > 128
            then 'jobs_tenant_is_at_most_128_bytes'
            when octet_length(job.kind) not between 1 and 128
            then 'jobs_kind_is_1_to_128_bytes'
            when payload_bytes > 1048576
                 or payload_bytes > 4000 and jsonb_path_exists(job.payload, numbers)
            then 'jobs_payload_is_at_most_1_mib_and_its_numbers_below_1e4000'
            when payload_bytes > 1000 and jsonb_path_exists(job.payload, '$.**{500}')
            then 'jobs_payload_is_nested_at_most_500_deep'
            when jsonb_typeof(job.headers) <> 'object' or headers_bytes > 8192
            then 'jobs_headers_are_an_object_of_at_most_8_kib'
            when headers_bytes > 1000 and (jsonb_path_exists(job.headers, '$.**{500}')
                                           or jsonb_path_exists(job.headers, numbers))
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

-- As the schema's owner, because what is full is nobody's to read. It names nothing but these two functions:
-- any other name would be looked up where the caller says.
create or replace function fairlead._admit_job() returns trigger language plpgsql security definer as $$
begin
    if not fairlead._is_ordinary(
        new.queue, new.tenant, new.kind, new.priority, new.max_attempts, new.payload, new.retry_of, new.run_at,
        new.expires_at, new.timeout, new.cost_hint, new.dedup_key, new.headers) then
        new := fairlead._admit_unusual(new);
    end if;
    return new;
end $$;

-- The others are called once for a statement, or seldom.
alter function fairlead._begin_schedule_anew() set search_path = pg_catalog, pg_temp;
alter function fairlead._raise_stale(bigint, bigint) set search_path = pg_catalog, pg_temp;
alter function fairlead._backoff(integer) set search_path = pg_catalog, pg_temp;
alter function fairlead._end_unstarted(bigint[], text, text[]) set search_path = pg_catalog, pg_temp;
alter function fairlead._end_expired(bigint[]) set search_path = pg_catalog, pg_temp;

-- The bits of all full lanes could be asked for by anybody who may insert. The trigger asks as the owner now.
do $$
declare
    role text;
begin
    foreach role in array array['fairlead_enqueue', 'fairlead_admin'] loop
        if to_regrole(role) is not null then
            execute format('revoke execute on function fairlead._has_room(text, text, text, bigint), '
                           'fairlead._backlog_bit(text) from %I', role);
        end if;
    end loop;
    if to_regrole('fairlead_enqueue') is not null then
        revoke select on sequence fairlead.backlog_gate from fairlead_enqueue;
    end if;
    if to_regrole('fairlead_scheduler') is not null then
        revoke execute on function fairlead._has_room(text, text, text, bigint) from fairlead_scheduler;
    end if;
end $$;

-- What follows is for rows that nothing has checked: a superuser can store them without the trigger, or by a
-- restore. PostgreSQL fails a whole statement for one value that it cannot convert, so these functions clamp:
-- to the bounds of the admission, so that an ordinary value is what it was. They are inlined, unless the argument
-- is volatile. date_part computes in float8, to the microsecond until the year 2100; extract in numeric, slower.

-- Microseconds since 1970: from 1970 to 9999.
create function fairlead._epoch_us(at timestamptz) returns bigint
language sql stable parallel safe
return case when at is not null
            then least(greatest(date_part('epoch', at) * 1e6, 0), 253370764800000000)::bigint end;

-- Microseconds: from one to 30 days.
create function fairlead._span_us(span interval) returns bigint
language sql immutable parallel safe
return case when span is not null
            then least(greatest(date_part('epoch', span) * 1e6, 1), 2592000000000)::bigint end;

-- The instant from which a scan begins: 0 is before all.
create function fairlead._scan_from(us bigint) returns timestamptz
language sql immutable parallel safe
return case when us > 0 then to_timestamp(us / 1e6::double precision) else '-infinity' end;

-- When an attempt that begins now has run too long: after at most 1000 years.
create function fairlead._deadline(timeout interval) returns timestamptz
language sql stable parallel safe
return now() + least(greatest(timeout, interval '1 ms'), interval '1000 years');

-- A count and one more.
create function fairlead._one_more(count integer) returns integer
language sql immutable parallel safe
return least(greatest(count, 0), 2147483646) + 1;

