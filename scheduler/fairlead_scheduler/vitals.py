"""What a leader looks at to say how the database is: sessions, old snapshots, tables, workers.

These are looks into the server's memory and its catalogs, a millisecond each. They go on beside
the loop and lock nothing; one that takes long, because somebody rewrites a table, is given up.
"""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import NamedTuple

from psycopg.rows import args_row

from fairlead import sql
from fairlead.store import Connection
from fairlead_scheduler.chores import Chore
from fairlead_scheduler.database_metrics import Crew, DatabaseMetrics, Held, TableSize
from fairlead_scheduler.horizon import Horizon

_PACKAGE = __package__ or ""
_SERVER_SECONDS = 10.0
_TABLES_SECONDS = 60.0
_STATEMENT_SECONDS_MAX = 2.0
_DUTY = 0.01


class Sessions(NamedTuple):
    """What `sessions` answers of a program, and how many sessions there may be at all."""

    program: str
    sessions: int
    most: int


class Holding(NamedTuple):
    """What `holders` answers of a kind of holder; None where there is none of it."""

    next_id: int
    holder: str | None
    transactions: int | None


class Vitals:
    """The looks of one term over one session, which others use between them.

    Args:
        connection: The session.
        metrics: What is shown.
        pools: Which pools the policy in force names.
        clock: In seconds, from wherever.
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
        self._horizon = Horizon()

    def chores(self) -> tuple[Chore, ...]:
        """Return what to do and how often."""
        return (
            Chore("server", _SERVER_SECONDS, self.server, _DUTY),
            Chore("tables", _TABLES_SECONDS, self.tables, _DUTY),
        )

    def server(self) -> bool:
        """Look at sessions, at who holds what is dead, and at the workers."""
        with self._connection.transaction():
            self._hurry()
            with self._connection.cursor(row_factory=args_row(Crew)) as cursor:
                crews = cursor.execute(sql.load(_PACKAGE, "crews")).fetchall()
            with self._connection.cursor(row_factory=args_row(Sessions)) as cursor:
                sessions = cursor.execute(sql.load(_PACKAGE, "sessions")).fetchall()
            with self._connection.cursor(row_factory=args_row(Holding)) as cursor:
                holding = cursor.execute(sql.load(_PACKAGE, "holders")).fetchall()
        self._metrics.crews(crews, pools=self._pools())
        by_program = {each.program: each.sessions for each in sessions}
        self._metrics.sessions(by_program, most=sessions[0].most)
        self._metrics.held(self._aged(holding))
        return False

    def tables(self) -> bool:
        """Look at how large the tables are that change all the time, and what is dead there."""
        with self._connection.transaction():
            self._hurry()
            with self._connection.cursor(row_factory=args_row(TableSize)) as cursor:
                sizes = cursor.execute(sql.load(_PACKAGE, "tables")).fetchall()
        self._metrics.tables(sizes)
        return False

    def _hurry(self) -> None:
        """Have the statements of this transaction end soon, also behind PgBouncer."""
        limit = {"milliseconds": int(_STATEMENT_SECONDS_MAX * 1000)}
        self._connection.execute(sql.load(_PACKAGE, "hurry"), limit)

    def _aged(self, holding: Sequence[Holding]) -> dict[str, Held]:
        """Say in seconds how old what is held is."""
        self._horizon.note(holding[0].next_id, self._clock())
        return {
            holder: Held(self._horizon.age_seconds(transactions), transactions)
            for _, holder, transactions in holding
            if holder is not None and transactions is not None
        }
