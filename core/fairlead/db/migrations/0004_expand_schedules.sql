-- Cron schedules. An application inserts them; the leader fires them, each fire once.

create table fairlead.schedules (
    name         text        collate "C" not null,
    cron         text        not null,
    timezone     text        not null default 'UTC',
    missed       text        collate "C" not null default 'coalesce',
    enabled      boolean     not null default true,
    queue        text        collate "C" not null default 'default',
    tenant       text        collate "C" not null default '',
    kind         text        collate "C" not null,
    payload      jsonb       not null default '{}',
    priority     smallint    not null default 0,
    max_attempts integer,
    timeout      interval,
    expires_in   interval,
    headers      jsonb       not null default '{}',
    created_at   timestamptz not null default now(),
    considered_until timestamptz,
    problem      text,

    -- A tenant's names are its own: one that another has taken would tell of it, or, with
    -- ON CONFLICT DO NOTHING, make nothing without a word.
    primary key (tenant, name),
    constraint schedules_name_is_1_to_128_bytes check (octet_length(name) between 1 and 128),
    constraint schedules_cron_is_five_or_six_fields
        check (octet_length(cron) <= 256 and cron ~ '^\s*(\S+\s+){4,5}\S+\s*$'),
    -- PostgreSQL itself refuses a zone that it does not know.
    constraint schedules_timezone_is_known
        check (timezone <> '' and (timestamptz '2000-01-01 00:00+00' at time zone timezone) is not null),
    constraint schedules_missed_is_skip_coalesce_or_catch_up
        check (missed in ('skip', 'coalesce', 'catch_up')),
    constraint schedules_queue_is_1_to_128_bytes check (octet_length(queue) between 1 and 128),
    constraint schedules_tenant_is_at_most_128_bytes check (octet_length(tenant) <= 128),
    constraint schedules_kind_is_1_to_128_bytes check (octet_length(kind) between 1 and 128),
    constraint schedules_headers_are_an_object_of_at_most_4_kib
        check (jsonb_typeof(headers) = 'object' and octet_length(headers::text) <= 4096),
    constraint schedules_headers_are_nested_500_deep_numbers_below_1e4000
        check (octet_length(headers::text) < 1000 or not jsonb_path_exists(headers, '$.**{500}')
               and not jsonb_path_exists(
                   headers, 'strict $.** ? (@.type() == "number" && (@ >= 1e4000 || @ <= -1e4000))')),
    constraint schedules_priority_is_between_minus_100_and_100 check (priority between -100 and 100),
    constraint schedules_max_attempts_is_between_1_and_1000 check (max_attempts between 1 and 1000),
    constraint schedules_timeout_is_between_1_ms_and_30_days
        check (timeout between interval '1 millisecond' and interval '30 days'),
    constraint schedules_expires_in_is_between_1_s_and_365_days
        check (expires_in between interval '1 second' and interval '365 days')
);
comment on table fairlead.schedules is 'Templates of jobs and when to insert them.';
comment on column fairlead.schedules.cron is 'Five fields, or six with seconds first.';
comment on column fairlead.schedules.timezone is 'An IANA zone; fire times are local to it.';
comment on column fairlead.schedules.missed is
    'Fires missed while no leader ran or it was disabled: skip them, coalesce them into one, or '
    'catch_up on each.';
comment on column fairlead.schedules.considered_until is
    'Every fire time up to here has been fired or deliberately passed over.';
comment on column fairlead.schedules.problem is 'Why the leader cannot fire it; null when it can.';

-- Other times begin now: those of the past were never times of this schedule. A statement that
-- sets considered_until as well has decided that itself.
create function fairlead._begin_schedule_anew() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    new.considered_until := clock_timestamp();
    new.problem := null;
    return new;
end $$;
create trigger schedules_begin_anew before update of cron, timezone on fairlead.schedules
    for each row when ((old.cron, old.timezone) is distinct from (new.cron, new.timezone)
                       and new.considered_until is not distinct from old.considered_until)
    execute function fairlead._begin_schedule_anew();

create table fairlead.schedule_fires (
    tenant    text        collate "C" not null,
    schedule  text        collate "C" not null,
    fire_time timestamptz not null,
    fired_at  timestamptz not null default now(),
    primary key (tenant, schedule, fire_time)
);
create index schedule_fires_age on fairlead.schedule_fires (fired_at);
comment on table fairlead.schedule_fires is 'Each fire of each schedule, once, whichever process fired it.';
