-- apply_policy: store a policy document, unless the newest one says the same.
-- locks: policy_versions in share row exclusive mode, so that one version follows another.
-- index: policy_versions_pkey
select a.version, %(digest)s::text as digest, a.stored as new
from fairlead.apply_policy(%(document)s, %(digest)s, %(author)s, %(reason)s) a
