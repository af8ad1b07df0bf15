-- newest_policy: the policy document that is in force.
-- locks: none
-- index: policy_versions_pkey
select v.version, v.digest, v.document
from fairlead.policy_versions v order by v.version desc limit 1
