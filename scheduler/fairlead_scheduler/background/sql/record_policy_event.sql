-- record_policy_event: record that a version of the policy came into force or was refused, or that one of its
--                      rules was disabled: once in this term, and only while it leads.
-- locks: the leader's row (for key share).
-- index: leaders_pkey, policy_events_once
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
)
insert into fairlead.policy_events (version, event, epoch, rule, said)
select %(version)s, %(event)s, l.epoch, %(rule)s, %(said)s from lead l
on conflict do nothing
