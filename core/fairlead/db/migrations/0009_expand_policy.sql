-- The policy: every document that was stored, of which the newest that can be read is in force, what became of
-- each, and how far the rates are used up.

create table fairlead.policy_versions (
    version   bigint      generated always as identity primary key,
    stored_at timestamptz not null default clock_timestamp(),
    digest    text        collate "C" not null
        constraint policy_versions_digest_is_12_hexadecimal_digits check (digest ~ '^[0-9a-f]{12}$'),
    author    text        not null
        constraint policy_versions_author_is_1_to_128_bytes
        check (octet_length(author) between 1 and 128),
    reason    text        not null default ''
        constraint policy_versions_reason_is_at_most_1_kib check (octet_length(reason) <= 1024),
    document  text        not null
        constraint policy_versions_document_is_1_byte_to_256_kib
        check (octet_length(document) between 1 and 262144)
);
comment on column fairlead.policy_versions.digest is
    'Names what the document says: the same for two documents of one meaning.';

create function fairlead._policy_versions_stay() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception 'fairlead: stored policies stay as they are: store a new version'
        using errcode = 'insufficient_privilege';
end $$;
create trigger policy_versions_stay before update or delete or truncate on fairlead.policy_versions
    for each statement execute function fairlead._policy_versions_stay();

create table fairlead.policy_events (
    id      bigint      generated always as identity primary key,
    at      timestamptz not null default clock_timestamp(),
    version bigint      not null references fairlead.policy_versions (version),
    event   text        collate "C" not null
        constraint policy_events_event_is_stored_in_force_or_refused
        check (event in ('stored', 'in_force', 'refused')),
    epoch   bigint,
    said    text        not null default '',
    constraint policy_events_once unique nulls not distinct (version, event, epoch)
);
comment on table fairlead.policy_events is
    'What became of each policy version: stored, in force, or refused with the sentence that says why.';
comment on column fairlead.policy_events.epoch is 'The term of the leader; null for a stored one.';

-- A tenant of null is the queue itself: '' is the tenant without a name.
create table fairlead.rate_usage (
    pool   text   collate "C" not null,
    queue  text   collate "C" not null,
    tenant text   collate "C",
    per_us bigint not null,
    tat_us bigint not null,
    constraint rate_usage_once unique nulls not distinct (pool, queue, tenant, per_us)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
comment on table fairlead.rate_usage is
    'How far each rate is used up: until when its window is spoken for (GCRA). Written with the dispatch.';
comment on column fairlead.rate_usage.tat_us is 'Microseconds since 1970, by the database''s clock.';
