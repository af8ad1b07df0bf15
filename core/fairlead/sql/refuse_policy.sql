-- refuse_policy: note that a policy document was refused, and so is not stored.
-- locks: its event, and those of documents that are forgotten.
-- index: policy_events_once, policy_events_refused
select fairlead.note_refused_policy(%(hash)s, %(said)s, %(author)s)
