"""Report policy documents that were refused before they were stored, in the log and a metric.

The command that refused one has informed its author and written an event, and a command has no
metrics. Documents refused while no scheduler led are in the events only.
"""

from typing import NamedTuple

from psycopg.rows import args_row, scalar_row

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.runtime import log
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.metrics.registry import Metrics

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


class RefusalWatch:
    """Watches for refused documents during one term, over one session."""

    def __init__(self, connection: Connection, *, metrics: Metrics) -> None:
        self._connection = connection
        self._metrics = metrics
        self._after: int | None = None

    def tasks(self) -> tuple[PeriodicTask, ...]:
        """Return what to do and how often."""
        return (PeriodicTask("refusals", _SECONDS, self.watch),)

    def watch(self) -> bool:
        """Report documents refused since the last read; the first only finds the newest."""
        if self._after is None:
            with self._connection.cursor(row_factory=scalar_row) as newest:
                self._after = newest.execute(
                    statements.load(_PACKAGE, "newest_refusal")
                ).fetchone()
            return False
        values = {"after": self._after, "limit": _AT_ONCE}
        with self._connection.cursor(row_factory=args_row(Refusal)) as cursor:
            found = cursor.execute(statements.load(_PACKAGE, "refusals"), values).fetchall()
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
