"""Settle batches: count their jobs as they end, and insert the completion's job of each.

What has been counted stands in the database, so a term begins where the last one stopped. A
round looks at every batch that is not over, some pages in each run, and a large batch is
counted a thousand jobs at a time: the next run of the thread's other tasks comes in between.
"""

from time import monotonic
from typing import NamedTuple

from psycopg.errors import QueryCanceled
from psycopg.rows import args_row

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.runtime import log
from fairlead.runtime.log_throttle import LogThrottle
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.loop.requests import Requests
from fairlead_scheduler.settings import SchedulerSettings

_log = log.get("scheduler")
_PACKAGE = __package__ or ""
_ROUND_SECONDS = 0.5
_IDLE_SECONDS = 4.0
"""With nothing in flight only a batch that is empty, or was closed late, can be over."""
_DUTY = 0.1
_FORGET_SECONDS = 60.0
_BATCHES_AT_ONCE = 500
_JOBS_AT_ONCE = 2000
_PAGES_AT_ONCE = 10


class Settled(NamedTuple):
    """The result of `settle_batches`."""

    completed: int
    refused: int
    more: bool
    reached_id: int | None


class Batches:
    """The batches of one term over one session."""

    def __init__(
        self,
        connection: Connection,
        settings: SchedulerSettings,
        *,
        epoch: int,
        requests: Requests,
    ) -> None:
        self._connection = connection
        self._epoch = epoch
        self._limit = settings.sweep_max
        self._days = max(settings.history_days_succeeded, settings.history_days_unsuccessful)
        self._requests = requests
        self._jobs = _JOBS_AT_ONCE
        """How many one statement counts: fewer after one that took too long."""
        self._reached_id = 0
        self._throttle = LogThrottle()

    def tasks(self) -> tuple[PeriodicTask, ...]:
        """Return the tasks and their periods."""
        return (
            PeriodicTask("settle_batches", _ROUND_SECONDS, self.settle, _DUTY, rest=self._rest),
            PeriodicTask("forget_batches", _FORGET_SECONDS, self.forget),
        )

    def settle(self) -> bool:
        """Go on with the round, or begin the next; return whether one has more to count."""
        for _ in range(_PAGES_AT_ONCE):
            settled = self._settle_page()
            self._reached_id = settled.reached_id or 0
            if settled.refused and self._throttle.due("", monotonic()):
                _log.warning("batches.not_completed", batches=settled.refused)
            if settled.more:
                return True
            if settled.reached_id is None:
                break
        return False

    def _settle_page(self) -> Settled:
        parameters = {
            "epoch": self._epoch,
            "after_id": self._reached_id,
            "batches": _BATCHES_AT_ONCE,
            "limit": self._jobs,
            "days": self._days,
        }
        with self._connection.cursor(row_factory=args_row(Settled)) as cursor:
            try:
                cursor.execute(statements.load(_PACKAGE, "settle_batches"), parameters)
            except QueryCanceled:
                self._jobs = max(1, self._jobs // 4)
                raise
            settled = cursor.fetchone()
        assert settled is not None
        self._jobs = min(self._jobs * 2, _JOBS_AT_ONCE)
        return settled

    def forget(self) -> bool:
        """Delete batches past their retention, a bounded number of rows."""
        parameters = {"epoch": self._epoch, "days": self._days, "limit": self._limit}
        row = self._connection.execute(
            statements.load(_PACKAGE, "forget_batches"), parameters
        ).fetchone()
        return row is not None and int(str(row[0])) >= self._limit

    def _rest(self, every_seconds: float) -> float:
        return _IDLE_SECONDS if self._requests.idle else every_seconds
