-- stored: the newest policy that has this number, or this digest.
-- locks: none.
-- index: policy_versions_pkey
select v.version, v.document from fairlead.policy_versions v
where v.version = %(version)s::bigint or v.digest = %(digest)s
order by v.version desc limit 1
