-- policy_refusals: the policy documents that were refused, the newest first, with the database's clock.
-- locks: none
-- index: policy_events_refused
select e.at, e.author, e.hash, e.said as reason, clock_timestamp() as now
from fairlead.policy_events e
where e.version is null
order by e.id desc limit %(limit)s
