"""The controller's Prometheus series.

In: decisions, their inputs, and what became of writes. Out: the page `/metrics`.

`series` defines every series once: name, help, labels, buckets; the reference page and the
dashboards are generated from it. `registry` sets them from decisions and their status, and
clears what only a leader shows. It may import `decision` and `status`; the controller calls it.
Begin at `series`; a new series is added there and set in `registry`.
"""
