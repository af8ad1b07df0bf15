"""Every series as the rooms' tables have it."""

from collections.abc import Iterable
from pathlib import Path

from fairlead.series import Series
from fairlead_autoscaler import series as autoscaler
from fairlead_scheduler import series as scheduler
from fairlead_worker import series as worker

PATH = Path("docs/reference/metrics.md")
ROOMS = {
    "Worker": worker.SERIES,
    "Scheduler": scheduler.SERIES,
    "Autoscaler": autoscaler.SERIES,
}
"""The table of each program, by the section of the page that it makes."""

_HEAD = """# Metrics

Written by `python -m docs.generate` from the code. Workers, schedulers and autoscalers serve
these at `/metrics` of their health port, beside the `process_…` series of prometheus-client. A
histogram's samples are called `_bucket`, `_sum` and `_count`.

Workers and the leader count under the same names what each of them ends, so take the sum of a
counter over all processes. What is said of queues, pools, tenants and the database is shown by
the leader only, which is marked with *L*: take the maximum. It vanishes with the lead.

At most 50 queues, 200 kinds and 50 pools are labels, and 750 pairs of a queue and a kind in
each worker; what comes beyond is `other`, and `FAIRLEAD_METRICS_KIND_ALLOWLIST` says which
kinds are told apart.

Of tenants only 20 are labels, together with their queues: the 10 that had most of the slots in
the last minute, the 5 of the rest that wait longest, the 5 of those left that are farthest
behind, and in the place of any that there are not, those that had most. The others are one row,
`other` of `other`, with their sums and their longest wait. Who leaves the 20 vanishes, and one
that is shown gives way only to one whose figure is a quarter larger.

*The last minute* is the window of the last fairness report: twelve times
`FAIRLEAD_REPORT_SECONDS`, and longer with thousands of tenants. What the
[shadow policy](policy.md#shadow) would do is told by its own series.

No look at the database reads a backlog whole: counting stops at 10,000. The leader measures
queues every 5 s, and more seldom where that would take more than a twentieth of its time; dead
jobs and tables once a minute; sessions, old snapshots and workers every 10 s. None of the last
two waits for more than 2 s.

A wait is counted from when the job could run. `FAIRLEAD_METRICS_WAIT_BOUNDS`, which the chart
sets to the pool's objective, has the histogram of waits count exactly how many jobs met it.
"""
_COLUMNS = """| series | type | labels | unit | what it says |
| --- | --- | --- | --- | --- |
"""
_UNITS = {
    "_timestamp_seconds": "seconds since 1970",
    "_slot_seconds": "slot-seconds",
    "_work_seconds": "slot-seconds",
    "_seconds": "seconds",
    "_bytes": "bytes",
    "_share": "0 to 1",
    "_ratio": "0 to 1",
    "_jain": "0 to 1",
    "_jobs": "jobs",
    "_rows": "rows",
    "_slots": "slots",
    "_transactions": "transactions",
    "_info": "always 1",
}
"""What names end in, the longer ends first; other series count what their names say."""
_BUCKETS = """
Bounds of the histograms' buckets:

| series | upper bounds |
| --- | --- |
"""


def render() -> str:
    """Return the page."""
    return "\n".join([_HEAD, *(_section(title, table) for title, table in ROOMS.items())])


def _section(title: str, table: Iterable[Series]) -> str:
    rows = "".join(map(_row, table))
    buckets = "".join(_bounds(each) for each in table if each.type == "histogram")
    return f"## {title}\n\n{_COLUMNS}{rows}{_BUCKETS}{buckets}"


def _row(series: Series) -> str:
    labels = ", ".join(series.labels)
    about = f"*L* {series.about}" if series.by_leader else series.about
    cells = (f"`{series.full_name}`", series.type, labels, unit(series), about)
    return f"| {' | '.join(cells)} |\n".replace("|  |", "| |").replace("|  |", "| |")


def unit(series: Series) -> str:
    """Return what a series is measured in; nothing where it counts what its name says."""
    return next((unit for end, unit in _UNITS.items() if series.name.endswith(end)), "")


def _bounds(series: Series) -> str:
    return f"| `{series.full_name}` | {', '.join(f'{each:g}' for each in series.bounds)} |\n"
