"""The leader's loop: observe, learn, plan, dispatch, request sweeps, report, rest.

In: new rows, receipts, heads and workers, read in two round trips per tick, and events from
the background threads. Out: rows of `work_queue`, and requests to the background threads.

`loop` is the tick, `store` its statements, `state` what the leader knows and how a tick
changes it (no clock, no I/O), `requests` the queues to other threads, `pacing` when to rest,
`lane_scans` takes scans in piece by piece, `report_step` and `demand_step` make reports and
demand.

It imports `leadership.election`, `metrics`, `rows` and the pure packages. Begin with
`Loop.step`.
"""
