"""The series of the fairness report: a few tenants by name, the others together.

A tenant that is shown counts a quarter more than one that is not, so that two of about the same
size do not take turns.
"""

from collections.abc import Callable, Mapping, Sequence
from math import nan

from prometheus_client import CollectorRegistry, Gauge

from fairlead_scheduler.report import Others, Report, TenantShare

TENANTS_MAX = 20
OTHER = "other"
_STAYS = 1.25
_BY_LEADER = " Shown by the leader only."
_TENANT_SERIES = {
    "share": "The tenant's part of all slot-seconds of the last minute.",
    "entitled_share": "What that would have been under an ideal fair order.",
    "lag_slot_seconds": "Slot-seconds of the last minute that the tenant had beyond what it "
    "was entitled to; below zero it is behind.",
    "running": "Jobs of the tenant that workers hold.",
    "oldest_wait_seconds": "For how long the tenant's oldest job has waited.",
}


class Rows:
    """Gauges that share their labels; those that are not shown again vanish."""

    def __init__(self, *gauges: Gauge) -> None:
        self._gauges = gauges
        self._shown: frozenset[tuple[str, ...]] = frozenset()

    def show(self, rows: Mapping[tuple[str, ...], Sequence[float]]) -> None:
        """Show these, a value for each gauge, and nothing else."""
        for labels in self._shown - rows.keys():
            for gauge in self._gauges:
                gauge.remove(*labels)
        for labels, values in rows.items():
            for gauge, value in zip(self._gauges, values, strict=True):
                gauge.labels(*labels).set(value)
        self._shown = frozenset(rows)

    def __contains__(self, labels: tuple[str, ...]) -> bool:
        """Tell whether there is such a row."""
        return labels in self._shown


class FairnessMetrics:
    """What the leader alone shows of the last report.

    Args:
        registry: Where the series live.
        label: Makes a queue's label of its name.
    """

    def __init__(self, registry: CollectorRegistry, label: Callable[[str], str]) -> None:
        def gauge(name: str, said: str, *labels: str) -> Gauge:
            return Gauge(f"fairlead_{name}", said + _BY_LEADER, labels, registry=registry)

        self._label = label
        self._tenants = Rows(
            *(
                gauge(f"tenant_{name}", said, "queue", "tenant")
                for name, said in _TENANT_SERIES.items()
            )
        )
        self._queues = Rows(
            gauge(
                "queue_lag_slot_seconds",
                "Slot-seconds of the last minute that a queue's tenants had beyond what they "
                "were entitled to; below zero they are behind.",
                "queue",
            )
        )
        self._groups = Rows(
            gauge(
                "tenants",
                "Tenants that had something pending all the last minute (noisy), and the "
                "others that had work in it (quiet), of a pool.",
                "pool",
                "group",
            ),
            gauge(
                "tenants_oldest_wait_seconds",
                "For how long the oldest job of the group has waited.",
                "pool",
                "group",
            ),
        )
        self._jain = Rows(
            gauge(
                "fairness_jain",
                "Jain's index of what tenants of a pool that waited all the last minute had "
                "over what they were entitled to: 1 is even; not a number with fewer than two.",
                "pool",
            )
        )
        self._reports: dict[str, Report] = {}

    def show(self, pool: str, report: Report) -> None:
        """Show a pool's report in place of the one before it."""
        self._reports[pool] = report
        self._show()

    def end(self, pool: str) -> None:
        """Show nothing of a pool any more."""
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
            lags[labels] = (lags.get(labels, (0.0,))[0] + each.had.lag_slot_seconds,)
        self._queues.show(lags)

    def hide(self) -> None:
        """Show nothing any more: another scheduler leads."""
        self._reports = {}
        for rows in (self._tenants, self._queues, self._groups, self._jain):
            rows.show({})

    def _tenant_rows(self) -> dict[tuple[str, ...], Sequence[float]]:
        """Return those that had most, of whatever pool, and the sum of the others."""
        reports = self._reports.values()
        every = [tenant for report in reports for tenant in report.tenants]
        ordered = sorted(every, key=self._size, reverse=True)
        named = ordered[:TENANTS_MAX]
        rows: dict[tuple[str, ...], Sequence[float]] = {
            (each.queue, each.tenant): _values(each) for each in named
        }
        others = [report.other for report in reports]
        rows[OTHER, OTHER] = _together((*ordered[TENANTS_MAX:], *others))
        return rows

    def _size(self, tenant: TenantShare) -> float:
        shown = (tenant.queue, tenant.tenant) in self._tenants
        return tenant.had.slot_seconds * (_STAYS if shown else 1.0)


def _values(row: TenantShare | Others) -> tuple[float, ...]:
    """Return one value for each series."""
    had = row.had
    waits = row.oldest_wait_seconds or 0.0
    return (had.share, had.entitled_share, had.lag_slot_seconds, row.running, waits)


def _together(rows: Sequence[TenantShare | Others]) -> tuple[float, ...]:
    """Return the sums of several rows, and the longest wait."""
    *summed, waits = zip(*map(_values, rows), strict=True)
    return (*map(sum, summed), max(waits))
