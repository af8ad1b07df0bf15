"""The scheduler's metrics.

In: counts and measurements from the loop and the background threads. Out: the series of one
registry, which the health server exposes. Series that only the leader knows disappear when a
term ends.

`series` names and describes every series, and feeds docs/reference/metrics.md. `registry` has
the class `Metrics` and the series of queues, endings, the policy and backlogs; `database`,
`fairness`, `rules` and `shadow` those of their subjects. It imports `fairlead.metrics`, `rows`
and `report.values`. Begin with `series`.
"""
