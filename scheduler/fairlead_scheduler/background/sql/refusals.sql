-- refusals: the policy documents that were refused since the event %(after)s, the oldest first.
-- locks: none.
-- index: policy_events_refused
select e.id, e.hash, e.author, e.said
from fairlead.policy_events e
where e.version is null and e.id > %(after)s
order by e.id limit %(limit)s
