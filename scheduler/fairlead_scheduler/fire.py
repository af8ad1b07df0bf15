"""Fire cron schedules: read them, ask `cron` what to do, insert the fires and their jobs.

A schedule that cannot be read or inserted gets a `problem` and delays no other.
"""

from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from time import monotonic
from typing import NamedTuple

import psycopg
from psycopg import Cursor
from psycopg.rows import args_row

from fairlead import log, sql
from fairlead.sql import integers
from fairlead.store import Connection
from fairlead_scheduler.chores import Chore
from fairlead_scheduler.cron import BadSchedule, Cron, Fires, Missed, decide, parse
from fairlead_scheduler.metrics import Metrics
from fairlead_scheduler.settings import SchedulerSettings

_log = log.get("scheduler")
_PACKAGE = __package__ or ""
_LOOK_SECONDS = 0.25
_READ_SECONDS = 2.0
_FIRES_PER_LOOK = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Schedule(NamedTuple):
    """A row of `schedules`."""

    tenant: str
    name: str
    cron: str
    timezone: str
    missed: Missed
    enabled: bool
    considered_us: int
    now_us: int

    @property
    def key(self) -> tuple[str, str]:
        """What no other schedule has: the tenant and the name."""
        return self.tenant, self.name


class Schedules:
    """The schedules of one term over one session."""

    def __init__(
        self,
        connection: Connection,
        settings: SchedulerSettings,
        *,
        epoch: int,
        metrics: Metrics,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._epoch = epoch
        self._metrics = metrics
        self._read: Cursor[Schedule] = connection.cursor(
            binary=True, row_factory=args_row(Schedule)
        )
        self._known: dict[tuple[str, str], Schedule] = {}
        self._crons: dict[tuple[str, str], Cron | str] = {}
        self._agenda: list[tuple[int, tuple[str, str]]] = []
        self._read_due = 0.0
        self._ahead_us = 0
        """The database's time less the process's."""

    def chores(self) -> tuple[Chore, ...]:
        """Return what to do and how often."""
        return (Chore("fire", _LOOK_SECONDS, self.fire),)

    def fire(self) -> bool:
        """Fire what is due, at most 200 schedules at a time; whether there are more."""
        if monotonic() >= self._read_due:
            self._reread()
        for _ in range(_FIRES_PER_LOOK):
            now_us = self._ahead_us + _process_us()
            if not self._agenda or self._agenda[0][0] > now_us:
                return False
            _, key = heappop(self._agenda)
            self._consider(self._known[key], now_us)
        return True

    def _reread(self) -> None:
        """Read the schedules, and plan each one's next fire."""
        rows = self._read.execute(sql.load(_PACKAGE, "schedules")).fetchall()
        self._read_due = monotonic() + _READ_SECONDS
        if rows:
            self._ahead_us = rows[0].now_us - _process_us()
        self._known = {row.key: row for row in rows}
        self._agenda = []
        used: dict[tuple[str, str], Cron | str] = {}
        for row in rows:
            key = (row.cron, row.timezone)
            used[key] = self._crons.get(key) or _parsed(row)
            self._crons[key] = used[key]
            self._plan(row)
        self._crons = used

    def _plan(self, row: Schedule) -> None:
        """Enter the schedule's next fire in the agenda."""
        cron = self._crons[row.cron, row.timezone]
        if not row.enabled:
            self._pass_over(row)
        elif isinstance(cron, str):
            self._complain(row, cron)
        else:
            fire = next(cron.after(_instant(row.considered_us)), None)
            if fire is not None:
                heappush(self._agenda, (_microseconds(fire), row.key))

    def _consider(self, row: Schedule, now_us: int) -> None:
        """Fire the schedule as its policy says, and plan its next fire."""
        cron = self._crons[row.cron, row.timezone]
        assert isinstance(cron, Cron)
        considered, now = _instant(row.considered_us), _instant(now_us)
        fires = decide(cron, row.missed, considered, now, self._settings.catch_up_max)
        if self._insert(row, fires):
            moved = row._replace(considered_us=_microseconds(fires.considered_until))
            self._known[row.key] = moved
            self._plan(moved)

    def _insert(self, row: Schedule, fires: Fires) -> bool:
        try:
            found = self._write(row, fires)
        except psycopg.errors.QueryCanceled:
            raise
        except (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError) as error:
            self._complain(row, f"its job cannot be inserted: {error.diag.message_primary}")
            return False
        if found and fires.missed:
            self._metrics.cron_missed.inc(fires.missed)
            _log.warning(
                "schedule.missed", tenant=row.tenant, schedule=row.name, fires=fires.missed
            )
        return found

    def _write(self, row: Schedule, fires: Fires) -> bool:
        """Insert the fires; False when the schedule has changed, or another scheduler leads."""
        parameters = {
            "epoch": self._epoch,
            "tenant": row.tenant,
            "name": row.name,
            "cron": row.cron,
            "timezone": row.timezone,
            "enabled": row.enabled,
            "fires_us": integers(_microseconds(fire) for fire in fires.times),
            "considered_us": _microseconds(fires.considered_until),
        }
        answer = self._connection.execute(sql.load(_PACKAGE, "fire"), parameters).fetchone()
        return answer is not None and answer[0] is True

    def _pass_over(self, row: Schedule) -> None:
        """Note that nothing is owed for the time that the schedule was disabled."""
        self._write(row, Fires((), _instant(row.now_us), 0))

    def _complain(self, row: Schedule, problem: str) -> None:
        parameters = {
            "epoch": self._epoch,
            "tenant": row.tenant,
            "name": row.name,
            "problem": problem,
        }
        self._connection.execute(sql.load(_PACKAGE, "problem"), parameters)


def _parsed(row: Schedule) -> Cron | str:
    try:
        return parse(row.cron, row.timezone)
    except BadSchedule as error:
        return str(error)


def _process_us() -> int:
    return int(monotonic() * 1e6)


def _instant(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def _microseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // _MICROSECOND
