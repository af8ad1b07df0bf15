-- A policy document that was refused before it was stored is an event, too.

alter table fairlead.policy_events
    alter column version drop not null,
    drop constraint policy_events_once,
    add column hash   text collate "C" not null default '',
    add column author text not null default '',
    add constraint policy_events_hash_is_12_hexadecimal_digits check (hash ~ '^([0-9a-f]{12})?$'),
    add constraint policy_events_hash_is_of_a_refused_document
        check ((version is null) = (hash <> '') and (version is not null or event = 'refused')),
    add constraint policy_events_once unique nulls not distinct (version, event, epoch, rule, hash);
create index policy_events_refused on fairlead.policy_events (id) where version is null;
comment on table fairlead.policy_events is
    'What became of each policy version: stored, in force, refused, or one of its rules disabled, and why; '
    'without a version, of a document that was refused and so not stored.';
comment on column fairlead.policy_events.hash is
    'Of a document that was not stored: the first 12 hexadecimal digits of the SHA-256 of its text.';
comment on column fairlead.policy_events.author is 'Who wanted to store it; empty for a version, which has its own.';

-- Notes that a policy document was refused. One that is refused again is one event, the newest; the last
-- hundred documents are kept.
create function fairlead.note_refused_policy(hash text, said text, author text default null)
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
begin
    insert into fairlead.policy_events as e (event, hash, author, said)
    values ('refused', note_refused_policy.hash,
            left(coalesce(nullif(note_refused_policy.author, ''), session_user), 128),
            left(note_refused_policy.said, 1024))
    on conflict on constraint policy_events_once do update
    set id = default, at = clock_timestamp(), author = excluded.author, said = excluded.said;
    delete from fairlead.policy_events e where e.id in (
        select o.id from fairlead.policy_events o
        where o.version is null order by o.id desc offset 100 limit 100);
end $$;
