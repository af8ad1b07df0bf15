-- policy_source: where the policy is edited.
-- locks: none
-- index: none; there is one row.
select o.policy_source as source, o.policy_place as place from fairlead.install_options o
