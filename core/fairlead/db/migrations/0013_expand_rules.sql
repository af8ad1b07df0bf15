-- The rules of a policy: one that had to be disabled is an event of its version.

alter table fairlead.policy_events
    drop constraint policy_events_event_is_stored_in_force_or_refused,
    drop constraint policy_events_once,
    add column rule text collate "C" not null default '',
    add constraint policy_events_event_is_known
        check (event in ('stored', 'in_force', 'refused', 'rule_disabled')),
    add constraint policy_events_rule_is_of_a_disabled_one
        check ((rule <> '') = (event = 'rule_disabled')),
    add constraint policy_events_once unique nulls not distinct (version, event, epoch, rule);
comment on table fairlead.policy_events is
    'What became of each policy version: stored, in force, refused, or one of its rules disabled, and why.';
comment on column fairlead.policy_events.rule is
    'The rule that was disabled because its condition took too long or had no value.';
