-- policy: the version that the leader has in force, and since when in seconds since the run began.
-- locks: none
-- index: none, the demo stores three versions
select v.version, v.digest, extract(epoch from e.at - %(began)s)::float8
from fairlead.policy_events e join fairlead.policy_versions v on v.version = e.version
where e.event = 'in_force' order by e.version desc, e.id limit 1
