"""Count how attempts end of workers that speak only SQL and show no metrics.

A worker of Fairlead's own counts by itself. Of the others the loop knows from the receipts for
which of their jobs an attempt has ended, and this reads how, shortly after. Nothing rests on it
but the series: what a term has not read when it ends is not counted.
"""

from math import inf

from psycopg.rows import args_row

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.db.statements import integers
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.loop.requests import Requests, take_all
from fairlead_scheduler.metrics.registry import EndingMetrics
from fairlead_scheduler.rows import EndedElsewhere

_PACKAGE = __package__ or ""
_JOBS_MAX = 1000


class EndingCounts:
    """The counts of one term over one session."""

    def __init__(
        self, connection: Connection, requests: Requests, metrics: EndingMetrics
    ) -> None:
        self._cursor = connection.cursor(binary=True, row_factory=args_row(EndedElsewhere))
        self._requests, self._metrics = requests, metrics

    def tasks(self) -> tuple[PeriodicTask, ...]:
        """Return the task; the loop requests it."""
        return (PeriodicTask("count_endings", inf, self.count, at_once=False),)

    def count(self) -> bool:
        """Count what the loop has found since the last time."""
        found = [each for batch in take_all(self._requests.uncounted) for each in batch]
        for start in range(0, len(found), _JOBS_MAX):
            ids, workers = zip(*found[start : start + _JOBS_MAX], strict=True)
            parameters = {"ids": integers(ids), "workers": integers(workers)}
            statement = statements.load(_PACKAGE, "ended_elsewhere")
            self._metrics.count_elsewhere(self._cursor.execute(statement, parameters))
        return False
