-- No login can store a job that stops the services, and a job that one stored nevertheless stops none of them.

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
