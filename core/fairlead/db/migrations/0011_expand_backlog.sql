-- Back-pressure: which lanes are over their backlog limit. The leader counts and publishes, the INSERT looks.

-- A tenant of null is the queue itself: '' is the tenant without a name.
create table fairlead.over_backlog (
    id            bigint      generated always as identity primary key,
    since         timestamptz not null default clock_timestamp(),
    backlog_limit integer     not null,
    reopens_at    integer     not null,
    queue         text        collate "C" not null,
    tenant        text        collate "C",
    constraint over_backlog_once unique nulls not distinct (queue, tenant)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
comment on table fairlead.over_backlog is
    'Tenants of queues, and queues, with as many unfinished jobs as their backlog limit: no more are accepted.';
comment on column fairlead.over_backlog.tenant is 'Null is the queue itself.';
comment on column fairlead.over_backlog.reopens_at is
    'With so many unfinished jobs, or fewer, more are accepted again.';

-- Which rows over_backlog may have, to be asked by every INSERT: its value takes a third of a microsecond to
-- read, where a query takes five. It has a bit for each row, and for a moment before and after one, and no
-- value while there are none. Two lanes may share a bit.
create sequence fairlead.backlog_gate;
comment on sequence fairlead.backlog_gate is
    'No value while over_backlog is empty, else the bits of its rows (a filter as Bloom''s).';

-- The bit of a queue, or of queue/tenant.
create function fairlead._backlog_bit(lane text) returns bigint
language sql immutable parallel safe
return 1::bigint << ((hashtextextended(lane, 0) & 9223372036854775807) % 62)::integer;

-- Answers true, or refuses a new job of a lane that is over its backlog limit. A job that repeats another is
-- the administrator's and passes. So does one whose dedup key is live: it makes no new job. Whose tenant
-- the caller does not see is refused elsewhere, and not reported here.
-- SQLSTATE FL005: over the backlog limit.
create function fairlead._has_room(queue text, tenant text, dedup_key text, retry_of bigint)
returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    full_one fairlead.over_backlog;
begin
    if retry_of is not null then
        return true;
    end if;
    select o.* into full_one from fairlead.over_backlog o
    where o.queue = _has_room.queue and o.tenant = _has_room.tenant;
    if not found then
        select o.* into full_one from fairlead.over_backlog o
        where o.queue = _has_room.queue and o.tenant is null;
        if not found then
            return true;
        end if;
    end if;
    if not fairlead._sees(_has_room.tenant) or exists (
        select from fairlead.jobs j
        where j.queue = _has_room.queue and j.tenant = _has_room.tenant
          and j.dedup_key = _has_room.dedup_key)
    then
        return true;
    end if;
    raise exception 'fairlead: %queue % is at its backlog limit of % unfinished jobs: insert again when '
                    'some have ended, or raise backlog.limit in the policy',
        case when full_one.tenant is not null
             then 'tenant ' || quote_literal(full_one.tenant) || ' of ' else '' end,
        quote_literal(full_one.queue), full_one.backlog_limit
        using errcode = 'FL005', schema = 'fairlead', table = 'jobs',
              column = case when full_one.tenant is null then 'queue' else 'tenant' end,
              detail = format('Jobs are accepted again when %s are left.', full_one.reopens_at);
end $$;
