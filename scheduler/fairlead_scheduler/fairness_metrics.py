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
                "others that had work in it (quiet).",
                "group",
            ),
            gauge(
                "tenants_oldest_wait_seconds",
                "For how long the oldest job of the group has waited.",
                "group",
            ),
        )
        self._jain = gauge(
            "fairness_jain",
            "Jain's index of what tenants that waited all the last minute had over what they "
            "were entitled to: 1 is even; not a number with fewer than two.",
        )
        self._jain.set(nan)

    def show(self, report: Report) -> None:
        """Show a report in place of the one before it."""
        self._jain.set(nan if report.jain is None else report.jain)
        self._tenants.show(self._tenant_rows(report))
        self._groups.show({("noisy",): report.noisy, ("quiet",): report.quiet})
        lags: dict[tuple[str, ...], tuple[float]] = {}
        for each in report.queues:
            labels = (self._label(each.queue),)
            lags[labels] = (lags.get(labels, (0.0,))[0] + each.had.lag_slot_seconds,)
        self._queues.show(lags)

    def hide(self) -> None:
        """Show nothing any more: another scheduler leads."""
        for rows in (self._tenants, self._queues, self._groups):
            rows.show({})
        self._jain.set(nan)

    def _tenant_rows(self, report: Report) -> dict[tuple[str, ...], Sequence[float]]:
        """Return those that had most, and the sum of the others."""
        ordered = sorted(report.tenants, key=self._size, reverse=True)
        named = ordered[:TENANTS_MAX]
        rows: dict[tuple[str, ...], Sequence[float]] = {
            (each.queue, each.tenant): _values(each) for each in named
        }
        rows[OTHER, OTHER] = _together((*ordered[TENANTS_MAX:], report.other))
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
