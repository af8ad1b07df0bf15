"""Fire cron schedules: read them, compute what is due, insert the fires and their jobs.

A schedule that cannot be parsed or inserted gets a `problem` and delays no other. All schedules
are read every few seconds, up to a number of each tenant; only changed or fired ones are
planned.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import inf
from time import monotonic
from typing import NamedTuple

import psycopg
from psycopg import Cursor
from psycopg.rows import args_row

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.db.statements import integers
from fairlead.errors import OVER_BACKLOG_SQLSTATE
from fairlead.runtime import log
from fairlead_scheduler.cron.expression import BadSchedule, Cron, parse
from fairlead_scheduler.cron.fire_rates import FireRates
from fairlead_scheduler.cron.full_lanes import FullLanes
from fairlead_scheduler.cron.late_fires import LateFires
from fairlead_scheduler.cron.missed_fires import Fires, decide, keep_apart
from fairlead_scheduler.cron.timetable import Key, Schedule, Timetable
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.settings import SchedulerSettings

_log = log.get("scheduler")
_PACKAGE = __package__ or ""
_READ_SECONDS = 2.0
_READ_SHARE = 0.01
"""Reading's share of the time: ten thousand schedules are read about every four seconds."""
_AT_ONCE = 200
_LATE_SECONDS = 30.0
"""How often late fires are logged, at most."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class ScheduleRunner:
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
        self._read: Cursor[_Read] = connection.cursor(binary=True, row_factory=args_row(_read))
        self._timetable = Timetable()
        self._refused: set[Key] = set()
        """Schedules whose last attempt to fire was refused for the backlog limit."""
        self._beyond: frozenset[Key] = frozenset()
        """The first schedule of each tenant that has too many which is not read."""
        self._full_lanes = FullLanes()
        self._rates = FireRates(settings.tenant_fires_per_second)
        self._delayed: set[Key] = set()
        """Schedules to which the rate of their tenant has promised a turn."""
        self._missed_fires, self._refused_fires = LateFires(), LateFires()
        self._late_due = 0.0
        self._crons: dict[tuple[str, str], Cron | str] = {}
        self._read_due = 0.0
        self._clock_offset_us = 0
        """The database's clock minus this process's."""

    def tasks(self) -> tuple[PeriodicTask, ...]:
        """Return the task and its period."""
        return (PeriodicTask("fire", _READ_SECONDS, self.fire, rest=self._rest),)

    def fire(self) -> bool:
        """Plan changed and fire due schedules, 200 each at most; return whether more is due."""
        more = self._fire_due()
        self._log_late()
        return more

    def _fire_due(self) -> bool:
        if monotonic() >= self._read_due:
            self._reread()
        for changed in self._timetable.take_unplanned(_AT_ONCE):
            self._plan(changed)
        for _ in range(_AT_ONCE):
            now_us = self._clock_offset_us + _process_us()
            row = self._timetable.pop_due(now_us)
            if row is None:
                return self._timetable.next_us == 0
            self._fire(row, now_us)
        return True

    def _log_late(self) -> None:
        """Log late fires, some tenants by name; not more often than every half minute."""
        now = monotonic()
        if now < self._late_due:
            return
        for event, late in (
            ("schedule.missed", self._missed_fires),
            ("schedule.refused", self._refused_fires),
        ):
            for line in late.take():
                self._late_due = now + _LATE_SECONDS
                _log.warning(event, **line._asdict())

    def _rest(self, _: float) -> float:
        """Rest until the next fire or the next read of the table."""
        next_us = self._timetable.next_us
        ahead_us = inf if next_us is None else next_us - self._clock_offset_us - _process_us()
        return max(0.0, min(ahead_us / 1e6, self._read_due - monotonic()))

    def _reread(self) -> None:
        """Read the schedules, and find those that changed."""
        began, most = monotonic(), self._settings.schedules_max
        rows = self._read.execute(
            statements.load(_PACKAGE, "schedules"), {"most": most}
        ).fetchall()
        if rows:
            self._clock_offset_us = rows[0].now_us - _process_us()
        if self._timetable.update(row.schedule for row in rows if row.place <= most):
            used = self._timetable.times
            self._crons = {times: cron for times, cron in self._crons.items() if times in used}
        for kept in (self._refused, self._delayed):
            if kept:
                kept.intersection_update(row.schedule.key for row in rows)
        now_us = self._clock_offset_us + _process_us()
        self._full_lanes.forget(now_us)
        self._rates.forget(now_us)
        self._say_beyond([row.schedule for row in rows if row.place > most])
        now = monotonic()
        self._read_due = now + max(_READ_SECONDS, (now - began) / _READ_SHARE)

    def _say_beyond(self, rows: Sequence[Schedule]) -> None:
        """Say which tenants have more schedules than are read, at the first that is not."""
        most = self._settings.schedules_max
        for row in rows:
            if row.key not in self._beyond:
                _log.warning("schedules.too_many", tenant=row.tenant, schedule=row.name)
                self._record_problem(
                    row,
                    f"its tenant has more than {most} schedules: those from this one on, by "
                    "name, do not fire. Remove some, or raise FAIRLEAD_SCHEDULES_MAX",
                )
        self._beyond = frozenset(row.key for row in rows)

    def _plan(self, row: Schedule) -> None:
        """Enter the schedule's next fire in the timetable."""
        cron = self._cron(row)
        if isinstance(cron, str):
            self._record_problem(row, cron)
            return
        fire = next(cron.after(_instant(row.considered_us)), None)
        self._timetable.enter(row, None if fire is None else _microseconds(fire))

    def _cron(self, row: Schedule) -> Cron | str:
        """Return the parsed expression, or a sentence that says what is wrong with it."""
        times = (row.cron, row.timezone)
        if times not in self._crons:
            self._crons[times] = _parsed(row)
        return self._crons[times]

    def _fire(self, row: Schedule, now_us: int) -> None:
        """Fire the schedule by its missed-fire policy, and plan its next fire.

        One that has changed, or cannot be inserted, is read again and retried. One whose lane
        is over its backlog limit is retried later, behind those of the lane that came before
        it: by then its fires may count as missed.
        """
        fires = self._decide(row, now_us)
        if self._full_lanes.holds(row.lane, now_us):
            self._postpone(row, fires)
            return
        if fires.times and not self._has_turn(row, fires, now_us):
            return
        try:
            inserted = self._insert(row, fires)
        except psycopg.DatabaseError as error:
            if error.sqlstate != OVER_BACKLOG_SQLSTATE:
                raise
            self._full_lanes.refused(row.lane, now_us)
            self._postpone(row, fires)
            return
        self._refused.discard(row.key)
        if inserted:
            self._rates.charge(
                row.tenant, len(fires.times) - (row.key in self._delayed), now_us
            )
            self._delayed.discard(row.key)
            self._plan(row._replace(considered_us=_microseconds(fires.considered_until)))
        else:
            self._timetable.forget(row.key)

    def _decide(self, row: Schedule, now_us: int) -> Fires:
        cron = self._cron(row)
        assert isinstance(cron, Cron)
        considered, now = _instant(row.considered_us), _instant(now_us)
        fires = decide(cron, row.missed, considered, now, self._settings.catch_up_max)
        if row.by_admin:
            return fires
        return keep_apart(
            fires, cron, timedelta(seconds=self._settings.schedule_interval_seconds)
        )

    def _has_turn(self, row: Schedule, fires: Fires, now_us: int) -> bool:
        """Whether the tenant's rate covers a fire; if not, promise it a turn and wait."""
        turn_us = self._rates.turn_us(row.tenant, now_us)
        if turn_us <= now_us or row.key in self._delayed:
            return True
        self._rates.charge(row.tenant, 1, now_us)
        self._delayed.add(row.key)
        self._metrics.cron_delayed.inc(len(fires.times))
        self._timetable.enter(row, turn_us)
        return False

    def _problem(self, row: Schedule, fires: Fires) -> str | None:
        """Return what a schedule that fires is to say of itself."""
        if fires.times and row.key in self._delayed:
            most = self._settings.tenant_fires_per_second
            return (
                "its tenant's schedules fire too often (FAIRLEAD_TENANT_FIRES_PER_SECOND is "
                f"{most}): the last fire had to wait"
            )
        if fires.passed_over:
            least = self._settings.schedule_interval_seconds
            return (
                f"its times are less than {least} s apart "
                "(FAIRLEAD_SCHEDULE_INTERVAL_SECONDS): those between are passed over"
            )
        return None

    def _insert(self, row: Schedule, fires: Fires) -> bool:
        try:
            found = self._write(row, fires)
        except psycopg.errors.QueryCanceled:
            raise
        except (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError) as error:
            self._record_problem(
                row, f"its job cannot be inserted: {error.diag.message_primary}"
            )
            return False
        if found and fires.passed_over:
            self._metrics.cron_passed_over.inc()
        if found and fires.missed:
            self._metrics.cron_missed.inc(fires.missed)
            self._missed_fires.record(*row.key, fires.missed)
        return found

    def _postpone(self, row: Schedule, fires: Fires) -> None:
        """Retry later a schedule whose lane is over its backlog limit."""
        self._timetable.enter(row, self._full_lanes.next_us(row.lane))
        if row.key not in self._refused:
            self._refused.add(row.key)
            self._metrics.cron_refused.inc(len(fires.times))
            self._refused_fires.record(*row.key, len(fires.times))
            self._record_problem(row, "its lane is over its backlog limit: it is tried again")

    def _write(self, row: Schedule, fires: Fires) -> bool:
        """Insert the fires; False when the schedule has changed, or another scheduler leads."""
        parameters = {
            "epoch": self._epoch,
            "tenant": row.tenant,
            "name": row.name,
            "cron": row.cron,
            "timezone": row.timezone,
            "fires_us": integers(_microseconds(fire) for fire in fires.times),
            "considered_us": _microseconds(fires.considered_until),
            "problem": self._problem(row, fires),
        }
        answer = self._connection.execute(
            statements.load(_PACKAGE, "fire"), parameters
        ).fetchone()
        return answer is not None and answer[0] is True

    def _record_problem(self, row: Schedule, problem: str) -> None:
        parameters = {
            "epoch": self._epoch,
            "tenant": row.tenant,
            "name": row.name,
            "problem": problem,
        }
        self._connection.execute(statements.load(_PACKAGE, "record_problem"), parameters)


class _Read(NamedTuple):
    """A row that `schedules` returns; the schedule's columns come last."""

    now_us: int
    place: int
    """The schedule's among those of its tenant, by name, from 1 on."""
    schedule: Schedule


def _read(now_us: int, place: int, *schedule: object) -> _Read:
    return _Read(now_us, place, Schedule._make(schedule))


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
