-- newest_policy: the policy document that was stored last, which a leader puts in force unless it refuses it.
-- locks: none
-- index: policy_versions_pkey
select v.version, v.digest, v.document
from fairlead.policy_versions v order by v.version desc limit 1
