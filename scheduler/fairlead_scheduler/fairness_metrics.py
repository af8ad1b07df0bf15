"""The series of the fairness report: a few tenants by name, the others together.

A tenant that is shown counts a quarter more than one that is not, so that two of about the same
size do not take turns.
"""

from collections.abc import Callable, Sequence
from math import nan

from prometheus_client import CollectorRegistry

from fairlead.metrics import Rows, gauge
from fairlead_scheduler import series
from fairlead_scheduler.report import Others, Report, TenantShare

TENANTS_MAX = 20
OTHER = "other"
_STAYS = 1.25
_TENANT_SERIES = (
    series.TENANT_SHARE,
    series.TENANT_ENTITLED,
    series.TENANT_LAG,
    series.TENANT_RUNNING,
    series.TENANT_WAIT,
)


class FairnessMetrics:
    """What the leader alone shows of the last report.

    Args:
        registry: Where the series live.
        label: Makes a queue's label of its name.
    """

    def __init__(self, registry: CollectorRegistry, label: Callable[[str], str]) -> None:
        self._label = label
        self._tenants = Rows(*(gauge(each, registry) for each in _TENANT_SERIES))
        self._queues = Rows(gauge(series.QUEUE_LAG, registry))
        self._groups = Rows(
            *(gauge(each, registry) for each in (series.TENANTS, series.TENANTS_WAIT))
        )
        self._jain = Rows(gauge(series.JAIN, registry))
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
