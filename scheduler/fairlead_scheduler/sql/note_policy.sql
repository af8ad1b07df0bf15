-- note_policy: say what became of a version of the policy, or of one of its rules, in this term: once, and only while it leads.
-- locks: the leader's row (for share).
-- index: leaders_pkey, policy_events_once
with lead as materialized (
    select l.epoch from fairlead.leaders l
    where l.role = 'scheduler' and l.epoch = %(epoch)s for share
)
insert into fairlead.policy_events (version, event, epoch, rule, said)
select %(version)s, %(event)s, l.epoch, %(rule)s, %(said)s from lead l
on conflict do nothing
