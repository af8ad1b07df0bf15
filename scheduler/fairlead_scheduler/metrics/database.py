"""The series of the database and of the workers, which only the leader shows."""

import collections
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from prometheus_client import CollectorRegistry

from fairlead.metrics.registry import OptionalGauges, Rows, gauge
from fairlead_scheduler.metrics import series

HOLDERS = ("transaction", "prepared", "replication_slot", "standby")
"""What may keep dead rows from being removed."""
PROGRAMS = ("scheduler", "worker", "autoscaler", "other")


class WorkerStates(NamedTuple):
    """How many workers of a pool are in each state."""

    pool: str
    live: int
    draining: int
    lapsed: int


class UnfinishedBatches(NamedTuple):
    """How many batches in a state are not over, and the age of the oldest."""

    state: str
    batches: int
    oldest_seconds: float


class SnapshotAge(NamedTuple):
    """The age of the oldest snapshot of a kind of holder; zeros if there is none."""

    seconds: float
    transactions: int


class TableSize(NamedTuple):
    """The sizes of one table."""

    table: str
    live_rows: int
    dead_rows: int
    table_bytes: int
    index_bytes: int


class DatabaseMetrics:
    """The series of the database.

    Args:
        registry: The registry of the series.
        label: Returns a pool's label by its name.
    """

    def __init__(self, registry: CollectorRegistry, label: Callable[[str], str]) -> None:
        self._label = label
        self._workers = Rows(gauge(series.WORKERS, registry))
        self._unhandled = Rows(gauge(series.UNHANDLED, registry))
        self._batches = Rows(
            gauge(series.BATCHES, registry), gauge(series.BATCHES_AGE, registry)
        )
        self._connections = Rows(gauge(series.CONNECTIONS, registry))
        self._sessions_max = OptionalGauges(registry, series.CONNECTIONS_MAX)
        self._holders = Rows(
            gauge(series.XMIN_SECONDS, registry), gauge(series.XMIN_TRANSACTIONS, registry)
        )
        self._tables = Rows(
            gauge(series.TABLE_DEAD, registry),
            gauge(series.TABLE_BLOAT, registry),
            gauge(series.TABLE_BYTES, registry),
            gauge(series.INDEX_BYTES, registry),
        )

    def show_workers(
        self, worker_states: Iterable[WorkerStates], *, pools: Iterable[str]
    ) -> None:
        """Show the workers by state; these pools have a row even without workers."""
        rows: collections.Counter[tuple[str, ...]] = collections.Counter()
        none = (WorkerStates(pool, 0, 0, 0) for pool in pools)
        for pool, live, draining, lapsed in (*none, *worker_states):
            label = self._label(pool)
            rows[label, "live"] += live
            rows[label, "draining"] += draining
            rows[label, "lapsed"] += lapsed
        self._workers.show({labels: (float(count),) for labels, count in rows.items()})

    def show_unhandled(self, jobs: Mapping[str, int]) -> None:
        """Show by kind how many jobs wait for a worker that has a handler."""
        self._unhandled.show({(kind,): (float(count),) for kind, count in jobs.items()})

    def show_batches(self, batches: Iterable[UnfinishedBatches]) -> None:
        """Show by state the batches that are not over."""
        self._batches.show(
            {(each.state,): (float(each.batches), each.oldest_seconds) for each in batches}
        )

    def show_sessions(self, sessions: Mapping[str, int], *, most: int) -> None:
        """Show the server's sessions by program, and their limit."""
        self._connections.show(
            {(program,): (float(sessions.get(program, 0)),) for program in PROGRAMS}
        )
        self._sessions_max.show(series.CONNECTIONS_MAX, most)

    def show_holders(self, holders: Mapping[str, SnapshotAge]) -> None:
        """Show how old the snapshots are that keep dead rows, by kind of holder."""
        self._holders.show(
            {(holder,): holders.get(holder, SnapshotAge(0.0, 0)) for holder in HOLDERS}
        )

    def show_tables(self, tables: Iterable[TableSize]) -> None:
        """Show the sizes of tables."""
        self._tables.show({(each.table,): _values(each) for each in tables})

    def hide(self) -> None:
        """Remove all series: another scheduler leads."""
        self._sessions_max.hide()
        tables = self._holders, self._tables
        fleet = self._workers, self._unhandled, self._batches, self._connections
        for rows in (*fleet, *tables):
            rows.show({})


def _values(size: TableSize) -> tuple[float, ...]:
    rows = size.live_rows + size.dead_rows
    ratio = size.dead_rows / rows if rows else 0.0
    return (size.dead_rows, ratio, size.table_bytes, size.index_bytes)
