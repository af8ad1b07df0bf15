-- stored_policy: the newest policy with this version or digest.
-- locks: none.
-- index: policy_versions_pkey
select v.version, v.document from fairlead.policy_versions v
where v.version = %(version)s::bigint or v.digest = %(digest)s
order by v.version desc limit 1
