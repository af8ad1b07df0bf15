"""Write the page of metrics from the `series.py` of each room."""

from collections.abc import Iterable
from pathlib import Path

from fairlead.metrics.series import Series
from fairlead_autoscaler.metrics import series as autoscaler
from fairlead_scheduler.metrics import series as scheduler
from fairlead_worker.metrics import series as worker

PATH = Path("docs/reference/metrics.md")
ROOMS = {
    "Worker": worker.SERIES,
    "Scheduler": scheduler.SERIES,
    "Autoscaler": autoscaler.SERIES,
}
"""The series of each program, by the title of its section."""

_HEAD = """# Metrics

Every series that Fairlead's programs export. Workers, schedulers and autoscalers serve them at
`/metrics` of their health port, next to the `process_…` series of prometheus-client. A
histogram's samples are called `_bucket`, `_sum` and `_count`. `python -m docs.generate` writes
this page from the code.

**Sum or maximum.** Workers and the leader use the same counters for the jobs that each of them
ends, so sum a counter over all processes. Only the leader exports figures of queues, pools,
tenants and the database, marked with *L*: take the maximum. They disappear when it loses the
lead.

**Labels are bounded.** At most 50 queues, 200 kinds and 50 pools are labels, and in each
worker at most 750 pairs of a queue and a kind; the rest are `other`.
`FAIRLEAD_METRICS_KIND_ALLOWLIST` names the kinds that get a label.

Only 20 tenants, each with its queue, are labels: the 10 that had most of the slots in the last
minute, then the 5 others that wait longest, then the 5 others that are farthest behind. If one
of these groups is not full, tenants that had most slots fill it up. All others share one row,
`other` of `other`, with their sums and their longest wait. A tenant that leaves the 20
disappears; it is replaced only by one whose figure is a quarter larger.

**The last minute** is the window of the last fairness report: twelve times
`FAIRLEAD_REPORT_SECONDS`, and longer with thousands of tenants. The [shadow
policy](policy.md#shadow) has its own series.

**How often.** No query reads a whole backlog: counting stops at 10,000. The leader measures
queues every 5 s, and less often if that would take more than a twentieth of its time; dead
jobs and tables once a minute; sessions, old snapshots and workers every 10 s. Queries of the
last two groups time out after 2 s.

**Waits** count from the moment when the job could run. `FAIRLEAD_METRICS_WAIT_BOUNDS`, which
the chart sets to the pool's objective, adds a bucket there, so that the histogram counts
exactly how many jobs met the objective.
"""
_COLUMNS = """| series | type | labels | unit | meaning |
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
"""Units by suffix, longer suffixes first; a series without one counts what its name says."""
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
    """Return the unit of a series; empty if it counts what its name says."""
    return next((unit for end, unit in _UNITS.items() if series.name.endswith(end)), "")


def _bounds(series: Series) -> str:
    return f"| `{series.full_name}` | {', '.join(f'{each:g}' for each in series.bounds)} |\n"
