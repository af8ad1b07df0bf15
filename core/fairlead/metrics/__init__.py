"""How a program declares its metrics and exports them to Prometheus.

Each service lists its metrics in one table of `Series` (`series`): name, type, help, labels.
From an entry `registry` makes the counter, gauge or histogram of a process, and
docs/reference/metrics.md is generated from the same tables. `registry` also has what all
services share: build information, leadership, and gauges that vanish when they have no value.

`series` imports nothing beyond the standard library, so that a worker's child can count
without prometheus_client; `registry` imports prometheus_client. Begin with `series`.
"""
