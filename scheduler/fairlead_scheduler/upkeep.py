"""Upkeep of what the database remembers: history's partitions, and rows past their retention.

Partitions are exempt from the epoch, because twice is the same as once. Their locks are asked
for with a short timeout, since whatever waits behind a waiting lock waits too: it is tried
again soon.
"""

import psycopg

from fairlead import log, sql
from fairlead.store import Connection
from fairlead_scheduler.chores import Chore
from fairlead_scheduler.settings import SchedulerSettings

_log = log.get("scheduler")
_PACKAGE = __package__ or ""
_HOUR_SECONDS = 3600.0
_MINUTE_SECONDS = 60.0
_DAYS_AT_ONCE = 3
_PAGES_AT_ONCE = 256


class Upkeep:
    """The upkeep of one term over one session, which has a `lock_timeout` of 200 ms."""

    def __init__(
        self, connection: Connection, settings: SchedulerSettings, *, epoch: int
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._epoch = epoch
        self._progress_page = self._orphan_page = 0

    def chores(self) -> tuple[Chore, ...]:
        """Return what to do and how often."""
        return (
            Chore("make_partitions", _HOUR_SECONDS, self.make_partitions),
            Chore("drop_partitions", _HOUR_SECONDS, self.drop_partitions),
            Chore("forget", _MINUTE_SECONDS, self.forget),
            Chore("forget_progress", _MINUTE_SECONDS, self.forget_progress),
            Chore("forget_orphans", _MINUTE_SECONDS, self.forget_orphans),
        )

    def make_partitions(self) -> bool:
        """Make history's partitions ahead of time, a few in each transaction."""
        statement = sql.load(_PACKAGE, "make_partitions")
        days = self._settings.history_days_ahead
        for ahead in (*range(1, days, _DAYS_AT_ONCE), days):
            self._connection.execute(statement, {"days_ahead": ahead})
        return False

    def drop_partitions(self) -> bool:
        """Detach, then drop, what is past its retention; one step each per round.

        A step that somebody's lock holds up does not hold up the others. An interrupted
        detaching is finished first.
        """
        parameters = {
            "succeeded_days": self._settings.history_days_succeeded,
            "unsuccessful_days": self._settings.history_days_unsuccessful,
            "limit": self._settings.sweep_max,
        }
        statement = sql.load(_PACKAGE, "old_partitions")
        steps = self._connection.execute(statement, parameters).fetchall()
        held_up: psycopg.Error | None = None
        for partition, command in steps:
            try:
                self._connection.execute(str(command).encode())
                _log.info("history.partition", partition=partition, command=command)
            except psycopg.OperationalError as error:
                held_up = error
        if held_up is not None:
            raise held_up
        return bool(steps)

    def forget(self) -> bool:
        """Delete errors and fires past their retention, dead workers, and what has lapsed."""
        limit, days = self._settings.sweep_max, self._settings.history_days_unsuccessful
        parameters = {"epoch": self._epoch, "days": days, "limit": limit}
        execute = self._connection.execute
        deleted = (
            execute(sql.load(_PACKAGE, "forget_errors"), parameters).rowcount,
            execute(sql.load(_PACKAGE, "forget_fires"), parameters).rowcount,
            execute(sql.load(_PACKAGE, "forget_workers"), parameters).rowcount,
            execute(sql.load(_PACKAGE, "forget_rates"), parameters).rowcount,
            execute(sql.load(_PACKAGE, "forget_drains"), parameters).rowcount,
        )
        return max(deleted) >= limit

    def forget_progress(self) -> bool:
        """Delete progress of attempts that are over, over some more of the table."""
        statement = sql.load(_PACKAGE, "forget_progress")
        self._progress_page = self._walk(statement, self._progress_page)
        return self._progress_page > 0

    def forget_orphans(self) -> bool:
        """Delete queued rows whose job is gone, over some more of the table."""
        statement = sql.load(_PACKAGE, "forget_orphans")
        self._orphan_page = self._walk(statement, self._orphan_page)
        return self._orphan_page > 0

    def _walk(self, statement: bytes, page: int) -> int:
        """Do one stretch of a table; returns where the next begins, 0 at the end.

        By pages and not by ids: an index leads over every row that an open snapshot keeps.
        """
        parameters = {"epoch": self._epoch, "page": page, "pages": _PAGES_AT_ONCE}
        row = self._connection.execute(statement, parameters).fetchone()
        return 0 if row is None else int(str(row[0]))
