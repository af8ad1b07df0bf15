"""The worker's series, and the counters of a child.

In: starts and endings of attempts, durations and batch sizes. Out: what grew since the last
second, for the parent, which shows it on `/metrics`.

`series` names every series once. A child counts with `counters` and sends what grew to the
parent (`ipc.messages.MetricsGrowth`), whose `parent.metrics_page` adds it up. The package
imports `ipc.messages` and the core's series. Begin with `series`: a new series is added there,
counted in `counters`, and shown by `parent.metrics_page`.
"""
