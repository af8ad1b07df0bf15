"""The policy, compiled to tables that never change.

In: a parsed `fairlead.policy.Policy`. Out: `CompiledPolicy` for the fair order, and
`BacklogLimits` for admission.

`compiled` has weights, limits and bands, `rules` the rules as bit sets, `pool_routing` which
pool serves which queue, `gcra` rate windows, `first_match` the lookup of names and patterns,
`settings` those of the fair order. Pure; imports only `fairlead.policy`. Begin with
`compiled.compile_policy`.
"""
