"""Policy simulation: what each tenant would get under two policies with the same traffic.

In: the state of a fleet (`reader` → `fleet_state`) or recorded traffic (`trace`, `replay`).
Out: a report (`compare` → `simulation_report`), which `fairlead policy simulate` prints and the
shadow stores.

`engine` advances simulated time for the pools (`pool_model`) and calls a leader through
`interface`. `fair_leader` is the product's own order; the benchmarks put other orders there.
`shadow_runner` runs `shadow_main` as a child process of the leader. Only `reader` and these two
do I/O; the rest is pure and may import the scheduler's pure packages. Begin with `engine`.
"""
