"""Retention: make and drop partitions of the history, and delete rows past their retention.

Partitions are not fenced by the epoch, because doing it twice is the same as once. Their locks
have a short timeout, since every statement queued behind a waiting lock waits too; a partition
that cannot be locked is left to the next run. Endings of a day without a partition are in a
default one until then.
"""

from collections.abc import Mapping
from time import monotonic

from psycopg.errors import Diagnostic

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.runtime import log
from fairlead.runtime.log_throttle import LogThrottle
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.settings import SchedulerSettings

_log = log.get("scheduler")
_PACKAGE = __package__ or ""
_HOUR_SECONDS = 3600.0
_MINUTE_SECONDS = 60.0
_DROP_SECONDS = 300.0
"""How often a drop is tried that a reader holds up: a try delays completions by up to 50 ms."""
_TODAY_SECONDS = 5.0
"""How soon a missing partition of today is made: its endings are in a default one till then."""
_TODAY_SHARE = 0.1
_MAKE_SECONDS_MAX = 600.0
"""For endings that move out of a default partition: no leader waits for it meanwhile."""
_LOCKED = "locked"
_DAYS_AT_ONCE = 3
_PAGES_AT_ONCE = 256


class Retention:
    """The retention tasks of one term over one session with a `lock_timeout` of 200 ms."""

    def __init__(
        self, connection: Connection, settings: SchedulerSettings, *, epoch: int
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._epoch = epoch
        self._progress_page = self._orphan_page = 0
        self._throttle = LogThrottle()
        connection.add_notice_handler(self._warn)

    def tasks(self) -> tuple[PeriodicTask, ...]:
        """Return what to do and how often."""
        return (
            PeriodicTask(
                "make_partition_of_today", _TODAY_SECONDS, self.make_today, duty=_TODAY_SHARE
            ),
            PeriodicTask("make_partitions", _HOUR_SECONDS, self.make_partitions),
            PeriodicTask("drop_partitions", _DROP_SECONDS, self.drop_partitions),
            PeriodicTask("forget", _MINUTE_SECONDS, self.forget),
            PeriodicTask("forget_audit", _HOUR_SECONDS, self.forget_audit),
            PeriodicTask("forget_periods", _MINUTE_SECONDS, self.forget_periods),
            PeriodicTask("forget_progress", _MINUTE_SECONDS, self.forget_progress),
            PeriodicTask("forget_orphans", _MINUTE_SECONDS, self.forget_orphans),
        )

    def make_today(self) -> bool:
        """Make today's partition if it is missing, and those of endings in a default one."""
        self._make(days_ahead=0)
        return False

    def make_partitions(self) -> bool:
        """Make partitions of the history ahead of time, a few in each transaction."""
        days = self._settings.history_days_ahead
        for ahead in (*range(1, days, _DAYS_AT_ONCE), days):
            self._make(days_ahead=ahead)
        return False

    def _make(self, *, days_ahead: int) -> None:
        limit = {"milliseconds": int(_MAKE_SECONDS_MAX * 1000)}
        with self._connection.transaction():
            self._connection.execute(statements.load(_PACKAGE, "limit_statement_time"), limit)
            self._connection.execute(
                statements.load(_PACKAGE, "make_partitions"), {"days_ahead": days_ahead}
            )

    def _warn(self, said: Diagnostic) -> None:
        """Log that partitions were left for later."""
        if said.severity_nonlocalized == "WARNING" and self._throttle.due("", monotonic()):
            _log.warning("history.partitions_left", reason=said.message_primary)

    def drop_partitions(self) -> bool:
        """Empty, then drop, partitions past their retention, one step at a time.

        Those that another session has locked are left to the next run. Returns whether anything
        was done, so that more may be left.
        """
        parameters = {
            "succeeded_days": self._settings.history_days_succeeded,
            "unsuccessful_days": self._settings.history_days_unsuccessful,
        }
        statement = statements.load(_PACKAGE, "drop_partitions")
        done = False
        for partition, step in self._connection.execute(statement, parameters).fetchall():
            locked = step == _LOCKED
            done = done or not locked
            level = _log.debug if locked else _log.info
            level("history.partition_changed", partition=partition, step=step)
        return done

    def forget(self) -> bool:
        """Delete errors and fires past retention, dead workers, unused rates, lapsed drains."""
        limit, days = self._settings.sweep_max, self._settings.history_days_unsuccessful
        parameters = {"epoch": self._epoch, "days": days, "limit": limit}
        execute = self._connection.execute
        deleted = (
            execute(statements.load(_PACKAGE, "forget_errors"), parameters).rowcount,
            execute(statements.load(_PACKAGE, "forget_fires"), parameters).rowcount,
            execute(statements.load(_PACKAGE, "forget_workers"), parameters).rowcount,
            execute(statements.load(_PACKAGE, "forget_rates"), parameters).rowcount,
            execute(statements.load(_PACKAGE, "forget_drains"), parameters).rowcount,
        )
        return max(deleted) >= limit

    def forget_audit(self) -> bool:
        """Delete entries of the audit log past their retention, one batch."""
        statement = statements.load(_PACKAGE, "forget_audit")
        return self._forget(statement, {"days": self._settings.history_days_audit})

    def forget_periods(self) -> bool:
        """Delete dedup keys whose period is over, one batch."""
        return self._forget(statements.load(_PACKAGE, "forget_periods"), {})

    def _forget(self, statement: bytes, parameters: Mapping[str, object]) -> bool:
        """Delete a batch; return whether there may be more."""
        limit = self._settings.sweep_max
        row = self._connection.execute(
            statement, {"epoch": self._epoch, "limit": limit, **parameters}
        ).fetchone()
        return row is not None and int(str(row[0])) >= limit

    def forget_progress(self) -> bool:
        """Delete progress of ended attempts, in the next stretch of the table."""
        statement = statements.load(_PACKAGE, "forget_progress")
        self._progress_page = self._walk(statement, self._progress_page)
        return self._progress_page > 0

    def forget_orphans(self) -> bool:
        """End what is left of deleted jobs, in the next stretch of the table."""
        statement = statements.load(_PACKAGE, "forget_orphans")
        self._orphan_page = self._walk(statement, self._orphan_page)
        return self._orphan_page > 0

    def _walk(self, statement: bytes, page: int) -> int:
        """Clean one stretch of a table; returns the page where the next begins, 0 at the end.

        By pages and not by ids: an index scan visits every row that an open snapshot keeps.
        """
        parameters = {"epoch": self._epoch, "page": page, "pages": _PAGES_AT_ONCE}
        row = self._connection.execute(statement, parameters).fetchone()
        return 0 if row is None else int(str(row[0]))
