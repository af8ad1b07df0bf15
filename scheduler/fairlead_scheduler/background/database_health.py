"""Measure the database's health: sessions, old snapshots, table sizes, workers, batches.

The reads of the server's memory and catalogs take a millisecond each. They run on a background
thread and lock nothing; one that takes long, because a table is being rewritten, times out.
"""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import NamedTuple

from psycopg.rows import args_row

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead_scheduler.background.xid_age import XidAge
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.metrics.database import (
    DatabaseMetrics,
    SnapshotAge,
    TableSize,
    UnfinishedBatches,
    WorkerStates,
)

_PACKAGE = __package__ or ""
_SERVER_SECONDS = 10.0
_TABLES_SECONDS = 60.0
_STATEMENT_SECONDS_MAX = 2.0
_DUTY = 0.01
_UNHANDLED_MAX = 10_000
_BATCHES_MAX = 10_000


class SessionCounts(NamedTuple):
    """A row of `sessions`: one program, and the server's limit in `most`."""

    program: str
    sessions: int
    most: int


class SnapshotHolder(NamedTuple):
    """A row of `holders`: one kind of holder of dead rows; None if there is no holder."""

    next_id: int
    holder: str | None
    transactions: int | None


class UnhandledKind(NamedTuple):
    """A row of `unhandled`: a kind that no worker has, and how many jobs of it wait."""

    kind: str
    jobs: int


class DatabaseHealth:
    """The measurements of one term, over a session that other tasks of its thread share.

    Args:
        connection: The session.
        metrics: The series to set.
        pools: Returns the pools that the policy in force names.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        connection: Connection,
        metrics: DatabaseMetrics,
        *,
        pools: Callable[[], Sequence[str]],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._connection = connection
        self._metrics = metrics
        self._pools = pools
        self._clock = clock
        self._xid_age = XidAge()

    def tasks(self) -> tuple[PeriodicTask, ...]:
        """Return what to do and how often."""
        return (
            PeriodicTask("server", _SERVER_SECONDS, self.measure_server, _DUTY),
            PeriodicTask("unhandled", _SERVER_SECONDS, self.measure_unhandled, _DUTY),
            PeriodicTask("batches", _SERVER_SECONDS, self.measure_batches, _DUTY),
            PeriodicTask("tables", _TABLES_SECONDS, self.measure_tables, _DUTY),
        )

    def measure_server(self) -> bool:
        """Measure sessions, holders of dead rows, and workers."""
        with self._connection.transaction():
            self._limit_statement_time()
            with self._connection.cursor(row_factory=args_row(WorkerStates)) as cursor:
                worker_states = cursor.execute(
                    statements.load(_PACKAGE, "worker_states")
                ).fetchall()
            with self._connection.cursor(row_factory=args_row(SessionCounts)) as cursor:
                sessions = cursor.execute(statements.load(_PACKAGE, "sessions")).fetchall()
            with self._connection.cursor(row_factory=args_row(SnapshotHolder)) as cursor:
                holders = cursor.execute(statements.load(_PACKAGE, "holders")).fetchall()
        self._metrics.show_workers(worker_states, pools=self._pools())
        by_program = {each.program: each.sessions for each in sessions}
        self._metrics.show_sessions(by_program, most=sessions[0].most)
        self._metrics.show_holders(self._ages(holders))
        return False

    def measure_unhandled(self) -> bool:
        """Count the jobs that wait for a worker with a handler for their kind."""
        limit = {"limit": _UNHANDLED_MAX}
        with self._connection.transaction():
            self._limit_statement_time()
            with self._connection.cursor(row_factory=args_row(UnhandledKind)) as cursor:
                found = cursor.execute(statements.load(_PACKAGE, "unhandled"), limit).fetchall()
        self._metrics.show_unhandled(dict(found))
        return False

    def measure_batches(self) -> bool:
        """Count the batches that are not over, and measure the age of the oldest."""
        limit = {"limit": _BATCHES_MAX}
        name = "unfinished_batches"
        with self._connection.transaction():
            self._limit_statement_time()
            with self._connection.cursor(row_factory=args_row(UnfinishedBatches)) as cursor:
                found = cursor.execute(statements.load(_PACKAGE, name), limit).fetchall()
        self._metrics.show_batches(found)
        return False

    def measure_tables(self) -> bool:
        """Measure the sizes and dead rows of the tables that change all the time."""
        with self._connection.transaction():
            self._limit_statement_time()
            with self._connection.cursor(row_factory=args_row(TableSize)) as cursor:
                sizes = cursor.execute(statements.load(_PACKAGE, "tables")).fetchall()
        self._metrics.show_tables(sizes)
        return False

    def _limit_statement_time(self) -> None:
        """Limit the statements of this transaction to 2 s, also behind PgBouncer."""
        limit = {"milliseconds": int(_STATEMENT_SECONDS_MAX * 1000)}
        self._connection.execute(statements.load(_PACKAGE, "limit_statement_time"), limit)

    def _ages(self, holders: Sequence[SnapshotHolder]) -> dict[str, SnapshotAge]:
        """Return the age of each kind of holder."""
        self._xid_age.sample(holders[0].next_id, self._clock())
        return {
            holder: SnapshotAge(self._xid_age.age_seconds(transactions), transactions)
            for _, holder, transactions in holders
            if holder is not None and transactions is not None
        }
