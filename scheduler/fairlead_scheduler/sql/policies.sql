-- policies: the newest versions of the policy above %(after)s and below %(before)s (null: no bound), the
--           newest first.
-- locks: none.
-- index: policy_versions_pkey
select v.version, v.document from fairlead.policy_versions v
where v.version > %(after)s and v.version < coalesce(%(before)s, 9223372036854775807)
order by v.version desc limit %(limit)s
