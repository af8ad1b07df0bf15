"""The series of the database and of who works on it, which the leader alone shows."""

import collections
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from prometheus_client import CollectorRegistry

from fairlead.metrics import Readings, Rows, gauge
from fairlead_scheduler import series

HOLDERS = ("transaction", "prepared", "replication_slot", "standby")
"""What may keep dead rows from being cleaned away."""
PROGRAMS = ("scheduler", "worker", "autoscaler", "other")


class Crew(NamedTuple):
    """How many workers of a pool are in each state."""

    pool: str
    live: int
    draining: int
    lapsed: int


class Held(NamedTuple):
    """How old the oldest is that a kind of holder keeps; zeros where it keeps nothing."""

    seconds: float
    transactions: int


class TableSize(NamedTuple):
    """What is known of one table."""

    table: str
    live_rows: int
    dead_rows: int
    table_bytes: int
    index_bytes: int


class DatabaseMetrics:
    """What the leader shows of the database.

    Args:
        registry: Where the series live.
        label: Makes a pool's label of its name.
    """

    def __init__(self, registry: CollectorRegistry, label: Callable[[str], str]) -> None:
        self._label = label
        self._workers = Rows(gauge(series.WORKERS, registry))
        self._connections = Rows(gauge(series.CONNECTIONS, registry))
        self._most = Readings(registry, series.CONNECTIONS_MAX)
        self._held = Rows(
            gauge(series.XMIN_SECONDS, registry), gauge(series.XMIN_TRANSACTIONS, registry)
        )
        self._tables = Rows(
            gauge(series.TABLE_DEAD, registry),
            gauge(series.TABLE_BLOAT, registry),
            gauge(series.TABLE_BYTES, registry),
            gauge(series.INDEX_BYTES, registry),
        )

    def crews(self, crews: Iterable[Crew], *, pools: Iterable[str]) -> None:
        """Show the workers; of these pools also that they have none."""
        rows: collections.Counter[tuple[str, ...]] = collections.Counter()
        nobody = (Crew(pool, 0, 0, 0) for pool in pools)
        for pool, live, draining, lapsed in (*nobody, *crews):
            label = self._label(pool)
            rows[label, "live"] += live
            rows[label, "draining"] += draining
            rows[label, "lapsed"] += lapsed
        self._workers.show({labels: (float(count),) for labels, count in rows.items()})

    def sessions(self, sessions: Mapping[str, int], *, most: int) -> None:
        """Show the server's sessions by program, and how many there may be."""
        self._connections.show(
            {(program,): (float(sessions.get(program, 0)),) for program in PROGRAMS}
        )
        self._most.show(series.CONNECTIONS_MAX, most)

    def held(self, held: Mapping[str, Held]) -> None:
        """Show for how long what is dead cannot be cleaned away, by what keeps it."""
        self._held.show({(holder,): held.get(holder, Held(0.0, 0)) for holder in HOLDERS})

    def tables(self, tables: Iterable[TableSize]) -> None:
        """Show the tables."""
        self._tables.show({(each.table,): _values(each) for each in tables})

    def hide(self) -> None:
        """Show nothing any more: another scheduler leads."""
        self._most.hide()
        for rows in (self._workers, self._connections, self._held, self._tables):
            rows.show({})


def _values(size: TableSize) -> tuple[float, ...]:
    rows = size.live_rows + size.dead_rows
    ratio = size.dead_rows / rows if rows else 0.0
    return (size.dead_rows, ratio, size.table_bytes, size.index_bytes)
