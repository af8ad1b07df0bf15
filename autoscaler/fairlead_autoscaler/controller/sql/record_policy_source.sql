-- record_policy_source: record where the policy is edited, unless that is recorded already.
-- locks: the row of options.
-- index: install_options_pkey
update fairlead.install_options o
set policy_source = %(source)s, policy_place = %(place)s
where (o.policy_source, o.policy_place) is distinct from (%(source)s, %(place)s)
