"""The decision on one pool: a pure function of what was observed and what is remembered.

`decide(state, inputs, config) -> Decision`. In go one reading of the database and the cluster
(`inputs`), the pool's `Autoscale` section of the policy, and the `State` that the last decision
returned. Out come `replicas` to write, pods to mark or unmark for draining, the reason, and the
next state. Every time is a field of the inputs: nothing here reads a clock, does I/O, starts a
thread or draws random numbers. It imports `fairlead.policy` and nothing else of the project.

Begin at `decide`, whose five numbered steps name the other modules; then `slot_demand` (how
many slots each term asks for), `goal` (pods between floors and caps) and `drains` (how to get
there).
"""
