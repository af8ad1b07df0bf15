"""Saying which policy documents were refused before they were stored: in the log and a metric.

Whoever refused one has told its author and written an event, and is gone: a command has no
metrics. What was refused while nobody led is in the events alone.
"""

from typing import NamedTuple

from psycopg.rows import args_row, scalar_row

from fairlead import log, sql
from fairlead.store import Connection
from fairlead_scheduler.chores import Chore
from fairlead_scheduler.metrics import Metrics

_log = log.get("scheduler")
_PACKAGE = __package__ or ""
_SECONDS = 2.0
_AT_ONCE = 100


class Refusal(NamedTuple):
    """A document that was refused."""

    id: int
    """Of the event."""
    hash: str
    author: str
    said: str


class Refusals:
    """Watches for refused documents during one term, over one session."""

    def __init__(self, connection: Connection, *, metrics: Metrics) -> None:
        self._connection = connection
        self._metrics = metrics
        self._after: int | None = None

    def chores(self) -> tuple[Chore, ...]:
        """Return what to do and how often."""
        return (Chore("refusals", _SECONDS, self.watch),)

    def watch(self) -> bool:
        """Say what was refused since the last look; the first one only looks."""
        if self._after is None:
            with self._connection.cursor(row_factory=scalar_row) as newest:
                self._after = newest.execute(sql.load(_PACKAGE, "newest_refusal")).fetchone()
            return False
        values = {"after": self._after, "limit": _AT_ONCE}
        with self._connection.cursor(row_factory=args_row(Refusal)) as cursor:
            found = cursor.execute(sql.load(_PACKAGE, "refusals"), values).fetchall()
        for refusal in found:
            self._after = refusal.id
            self._metrics.policy.refused.inc()
            _log.error(
                "policy.refused",
                hash=refusal.hash,
                author=refusal.author,
                reason=refusal.said,
            )
        return len(found) == _AT_ONCE
