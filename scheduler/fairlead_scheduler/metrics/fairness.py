"""The series of the fairness report: a few tenants by name, the others together.

Half of the names are the tenants that had most. The other half are those that wait longest and
those that are farthest behind, since a tenant that gets nothing is not among the former. A
tenant that is shown counts a quarter more than one that is not, so that two of about the same
size do not take turns. One that several pools report, as when its queue has moved from one to
the other, has the sum of what they say.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from heapq import nlargest
from math import nan
from typing import NamedTuple

from prometheus_client import CollectorRegistry

from fairlead.metrics import tenant_labels
from fairlead.metrics.registry import Rows, gauge
from fairlead_scheduler.metrics import series
from fairlead_scheduler.report.values import FairnessReport, Others, TenantShare

TENANTS_MAX = 20
OTHER = "other"
_STAYS = 1.25
_MOST, _LONGEST, _FARTHEST = 10, 5, 5
"""How many are named because they had most, wait longest or are farthest behind; places left
over go to those that had most."""
TENANT_SERIES = (
    series.TENANT_SHARE,
    series.TENANT_ENTITLED,
    series.TENANT_LAG,
    series.TENANT_RUNNING,
    series.TENANT_WAIT,
)
_LAG = TENANT_SERIES.index(series.TENANT_LAG)


class _Row(NamedTuple):
    """What all pools report of one tenant of a queue."""

    labels: tuple[str, str]
    slot_seconds: float
    oldest_wait_seconds: float
    """Below zero if nothing waits."""
    values: tuple[float, ...]
    """One for each series."""


class FairnessMetrics:
    """The series of the last reports, which only the leader shows.

    Args:
        registry: The registry of the series.
        label: Returns a queue's label by its name.
    """

    def __init__(self, registry: CollectorRegistry, label: Callable[[str], str]) -> None:
        self._label = label
        self._tenant_label: Callable[[str], str] = str
        self._tenants = Rows(*(gauge(each, registry) for each in TENANT_SERIES))
        self._queues = Rows(gauge(series.QUEUE_LAG, registry))
        self._groups = Rows(
            *(gauge(each, registry) for each in (series.TENANTS, series.TENANTS_WAIT))
        )
        self._jain = Rows(gauge(series.JAIN, registry))
        self._reports: dict[str, FairnessReport] = {}

    def hash_tenants(self, key: bytes) -> None:
        """Show labels made with this key in place of the tenants' names, from now on."""
        self._tenant_label = partial(tenant_labels.label, key)

    def show(self, pool: str, report: FairnessReport) -> None:
        """Show a pool's report in place of the one before it."""
        self._reports[pool] = report
        self._show()

    def end(self, pool: str) -> None:
        """Remove the series of a pool."""
        if self._reports.pop(pool, None) is not None:
            self._show()

    def _show(self) -> None:
        if not self._reports:
            self.hide()
            return
        reports = self._reports.items()
        self._jain.show(
            {(name,): (nan if each.jain is None else each.jain,) for name, each in reports}
        )
        self._groups.show(
            {
                (name, group): having
                for name, each in reports
                for group, having in (("noisy", each.noisy), ("quiet", each.quiet))
            }
        )
        self._tenants.show(self._tenant_rows())
        lags: dict[tuple[str, ...], tuple[float]] = {}
        for each in (queue for _, shown in reports for queue in shown.queues):
            labels = (self._label(each.queue),)
            lags[labels] = (lags.get(labels, (0.0,))[0] + each.received.lag_slot_seconds,)
        self._queues.show(lags)

    def hide(self) -> None:
        """Remove all series: another scheduler leads."""
        self._reports = {}
        for rows in (self._tenants, self._queues, self._groups, self._jain):
            rows.show({})

    def _tenant_rows(self) -> dict[tuple[str, ...], Sequence[float]]:
        """Return the named tenants of all pools, and the sum of the others."""
        reports = self._reports.values()
        shares: dict[tuple[str, str], list[TenantShare]] = {}
        for each in (share for report in reports for share in report.tenants):
            shares.setdefault((each.queue, self._tenant_label(each.tenant)), []).append(each)
        left = sorted(_row(labels, of_one) for labels, of_one in shares.items())
        named: list[_Row] = []
        for places, size in ((_MOST, _had), (_LONGEST, _waits), (_FARTHEST, _behind)):
            named += self._take(left, places, size)
        named += self._take(left, TENANTS_MAX - len(named), _had)
        rows: dict[tuple[str, ...], Sequence[float]] = {row.labels: row.values for row in named}
        others = (_values(report.other) for report in reports)
        rows[OTHER, OTHER] = _together((*(row.values for row in left), *others))
        return rows

    def _take(self, left: list[_Row], places: int, size: Callable[[_Row], float]) -> list[_Row]:
        """Take out the largest, up to the number of places; ties in the order of names."""
        taken = nlargest(
            places,
            (each for each in left if size(each) >= 0),
            key=lambda each: size(each) * (_STAYS if each.labels in self._tenants else 1.0),
        )
        for each in taken:
            left.remove(each)
        return taken


def _row(labels: tuple[str, str], shares: Sequence[TenantShare]) -> _Row:
    waits = (each.oldest_wait_seconds for each in shares)
    return _Row(
        labels,
        slot_seconds=sum(each.received.slot_seconds for each in shares),
        oldest_wait_seconds=max(-1.0 if each is None else each for each in waits),
        values=_together(map(_values, shares)),
    )


def _had(row: _Row) -> float:
    return row.slot_seconds


def _waits(row: _Row) -> float:
    """Return how long it has waited; below zero if nothing waits."""
    return row.oldest_wait_seconds


def _behind(row: _Row) -> float:
    """Return how far it is behind; below zero if it is not."""
    behind = -row.values[_LAG]
    return behind if behind > 0 else -1.0


def _values(row: TenantShare | Others) -> tuple[float, ...]:
    """Return one value for each series."""
    had = row.received
    waits = row.oldest_wait_seconds or 0.0
    return (had.share, had.entitled_share, had.lag_slot_seconds, row.running, waits)


def _together(values: Iterable[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the sums of several rows' values, and the longest wait."""
    *summed, waits = zip(*values, strict=True)
    return (*map(sum, summed), max(waits))
