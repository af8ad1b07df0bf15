-- older_policies: the stored policies after one version and before another, the newest first, ten at most: which of
--                 them this program can read is for it to find out.
-- locks: none.
-- index: policy_versions_pkey
select v.version, v.digest, v.document
from fairlead.policy_versions v
where v.version > %(after)s and v.version < %(before)s
order by v.version desc limit 10
