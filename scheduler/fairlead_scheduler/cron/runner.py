"""Fire cron schedules: read them, compute what is due, insert the fires and their jobs.

What is due is inserted in batches. A schedule that cannot be parsed, decided or inserted gets a
`problem` and delays no other. All schedules are read every few seconds, up to a number of each
tenant; only changed or fired ones are planned.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from math import inf
from time import monotonic

import psycopg

from fairlead.db.connect import Connection
from fairlead.db.error_text import one_line
from fairlead.errors import OVER_BACKLOG_SQLSTATE
from fairlead.runtime import log
from fairlead_scheduler.cron.expression import BadSchedule, Cron, parse
from fairlead_scheduler.cron.fire_rates import FireRates
from fairlead_scheduler.cron.full_lanes import FullLanes
from fairlead_scheduler.cron.late_fires import LateFires
from fairlead_scheduler.cron.missed_fires import ON_TIME, Fires, decide, keep_apart
from fairlead_scheduler.cron.store import (
    DueSchedule,
    ScheduleStore,
    instant,
    microseconds,
)
from fairlead_scheduler.cron.timetable import Key, Schedule, Timetable
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.settings import SchedulerSettings

_log = log.get("scheduler")
_READ_SECONDS = 2.0
_READ_SHARE = 0.01
"""Reading's share of the time: ten thousand schedules are read about every four seconds."""
_PLANNED_AT_ONCE = 200
_FIRES_AT_ONCE = 500
_BYTES_AT_ONCE = 16 * 1024 * 1024
"""A batch of a few times as much outlasts the statement timeout."""
_BEHIND_SECONDS_MAX = 300.0
"""Fires that are late for longer count as missed, whatever the scheduler did meanwhile."""
_LATE_SECONDS = 30.0
"""How often late fires are logged, at most."""
_REFUSALS = (
    psycopg.DataError,
    psycopg.IntegrityError,
    psycopg.ProgrammingError,
    psycopg.errors.QueryCanceled,
)
"""Errors of a batch that one of its schedules may be the cause of, or how many they are."""


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
        self._store = ScheduleStore(connection, epoch=epoch)
        self._settings = settings
        self._metrics = metrics
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
        self._late_due = self._failed_due = 0.0
        self._crons: dict[tuple[str, str], Cron | str] = {}
        self._read_due = 0.0
        self._clock_offset_us = 0
        """The database's clock minus this process's."""
        self._behind_since: float | None = monotonic()
        """Since when there has been something due; None: nothing is."""

    def tasks(self) -> tuple[PeriodicTask, ...]:
        """Return the task and its period."""
        return (PeriodicTask("fire", _READ_SECONDS, self.fire, rest=self._rest),)

    def fire(self) -> bool:
        """Plan changed and fire due schedules, a batch each; return whether more is due."""
        if self._behind_since is None:
            self._behind_since = monotonic()
        if monotonic() >= self._read_due:
            self._reread()
        more = self._fire_due()
        if not more:
            self._behind_since = None
        self._log_late()
        return more

    def _fire_due(self) -> bool:
        """Plan what has changed and fire a batch of what is due.

        If that fails, whatever the error, what it had taken is read again.
        """
        now_us = self._clock_offset_us + _process_us()
        due: list[DueSchedule] = []
        try:
            for changed in self._timetable.take_unplanned(_PLANNED_AT_ONCE):
                self._plan(changed)
            due.extend(self._take_due(now_us))
            self._insert(due, now_us)
        except Exception:
            lost = self._timetable.forget_taken()
            for each in due:
                if each.row.key in lost:
                    self._refund(each, now_us)
            raise
        return self._timetable.next_us == 0

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
        rows = self._store.read(most)
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
                self._store.record_problem(
                    row,
                    f"its tenant has more than {most} schedules: those from this one on, by "
                    "name, do not fire. Remove some, or raise FAIRLEAD_SCHEDULES_MAX",
                )
        self._beyond = frozenset(row.key for row in rows)

    def _plan(self, row: Schedule) -> None:
        """Enter the schedule's next fire in the timetable."""
        cron = self._cron(row)
        if isinstance(cron, str):
            self._store.record_problem(row, cron)
            self._timetable.enter(row, None)
            return
        try:
            fire = next(cron.after(instant(row.considered_us)), None)
        except Exception as error:  # noqa: BLE001 - it must silence no other schedule
            self._fail(row, error)
            return
        self._timetable.enter(row, None if fire is None else microseconds(fire))

    def _cron(self, row: Schedule) -> Cron | str:
        """Return the parsed expression, or a sentence that says what is wrong with it."""
        times = (row.cron, row.timezone)
        if times not in self._crons:
            self._crons[times] = _parsed(row)
        return self._crons[times]

    def _take_due(self, now_us: int) -> Iterator[DueSchedule]:
        """Yield due schedules whose fires may be inserted now, up to a number and a size.

        One whose lane is over its backlog limit is retried later, behind those of the lane that
        came before it: by then its fires may count as missed.
        """
        fires_left, bytes_left = _FIRES_AT_ONCE, _BYTES_AT_ONCE
        while fires_left > 0 and bytes_left > 0:
            row = self._timetable.pop_due(now_us)
            if row is None:
                return
            try:
                fires = self._decide(row, now_us)
            except Exception as error:  # noqa: BLE001 - it must silence no other schedule
                self._fail(row, error)
                continue
            fires_left -= max(1, len(fires.times))
            bytes_left -= len(fires.times) * row.stored_bytes
            if self._full_lanes.holds(row.lane, now_us):
                self._postpone(row, fires)
            elif not fires.times or self._has_turn(row, fires, now_us):
                if row.key in self._delayed and row.missed == "coalesce":
                    # One fire was promised: what was missed meanwhile is in the last one.
                    fires = replace(fires, times=fires.times[-1:])
                charged = len(fires.times) - (row.key in self._delayed)
                self._rates.charge(row.tenant, charged, now_us)
                yield DueSchedule(row, fires, self._problem(row, fires), charged)

    def _decide(self, row: Schedule, now_us: int) -> Fires:
        cron = self._cron(row)
        assert isinstance(cron, Cron)
        fires = decide(
            cron,
            row.missed,
            instant(row.considered_us),
            instant(now_us),
            self._settings.catch_up_max,
            on_time=self._on_time(now_us),
        )
        if row.by_admin:
            return fires
        return keep_apart(
            fires, cron, timedelta(seconds=self._settings.schedule_interval_seconds)
        )

    def _on_time(self, now_us: int) -> timedelta:
        """Return how late a fire may be: since it was due, others may have come first.

        A schedule that waits for its lane or its tenant's rate is not due meanwhile.
        """
        since = self._behind_since
        behind = 0.0 if since is None else monotonic() - since
        behind = min(behind, (now_us - self._timetable.due_us) / 1e6, _BEHIND_SECONDS_MAX)
        return ON_TIME + timedelta(seconds=behind)

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

    def _insert(self, due: Sequence[DueSchedule], now_us: int) -> None:
        """Insert the fires of schedules, all at once unless one of them is refused."""
        try:
            found = self._store.fire(due) if due else ()
        except psycopg.DatabaseError as error:
            if error.sqlstate != OVER_BACKLOG_SQLSTATE and not isinstance(error, _REFUSALS):
                raise
            self._divide(due, error, now_us)
            return
        for place, each in enumerate(due):
            self._settle(each, now_us, found=place in found)

    def _divide(
        self, due: Sequence[DueSchedule], refusal: psycopg.DatabaseError, now_us: int
    ) -> None:
        """Insert what was refused in halves, down to the lane or the schedule at fault."""
        full = refusal.sqlstate == OVER_BACKLOG_SQLSTATE
        if full and len({each.row.lane for each in due}) == 1:
            self._full_lanes.refused(due[0].row.lane, now_us)
            for each in due:
                self._refund(each, now_us)
                self._postpone(each.row, each.fires)
        elif len(due) == 1:
            self._refund(due[0], now_us)
            why = str(refusal.diag.message_primary)
            self._give_up(due[0].row, f"its job cannot be inserted: {why}")
        else:
            for half in _halves(due):
                self._insert(half, now_us)

    def _settle(self, due: DueSchedule, now_us: int, *, found: bool) -> None:
        """Plan the next fire; a schedule that has changed or is locked is read again."""
        row, fires = due.row, due.fires
        self._refused.discard(row.key)
        if not found:
            self._refund(due, now_us)
            self._timetable.forget(row.key)
            return
        if fires.passed_over:
            self._metrics.cron_passed_over.inc()
        if fires.missed:
            self._metrics.cron_missed.inc(fires.missed)
            self._missed_fires.record(*row.key, fires.missed)
        self._delayed.discard(row.key)
        self._plan(row._replace(considered_us=microseconds(fires.considered_until)))

    def _refund(self, due: DueSchedule, now_us: int) -> None:
        """Take back what the rate was charged for fires that were not inserted."""
        self._rates.charge(due.row.tenant, -due.charged, now_us)

    def _fail(self, row: Schedule, error: Exception) -> None:
        """Give up a schedule over an error that nobody expected; log one every half minute."""
        now = monotonic()
        if now >= self._failed_due:
            self._failed_due = now + _LATE_SECONDS
            _log.warning(
                "schedule.failed", tenant=row.tenant, schedule=row.name, exc_info=error
            )
        self._give_up(row, f"its fires cannot be computed: {one_line(error)}")

    def _give_up(self, row: Schedule, problem: str) -> None:
        """Record why a schedule cannot fire; it is read again."""
        self._refused.discard(row.key)
        self._timetable.forget(row.key)
        self._store.record_problem(row, problem)

    def _postpone(self, row: Schedule, fires: Fires) -> None:
        """Retry later a schedule whose lane is over its backlog limit."""
        self._timetable.enter(row, self._full_lanes.next_us(row.lane))
        if row.key not in self._refused:
            self._refused.add(row.key)
            self._metrics.cron_refused.inc(len(fires.times))
            self._refused_fires.record(*row.key, len(fires.times))
            self._store.record_problem(
                row, "its lane is over its backlog limit: it is tried again"
            )


def _halves(due: Sequence[DueSchedule]) -> tuple[Sequence[DueSchedule], ...]:
    """Return two halves of a batch; a lane is kept whole while there is another."""
    lanes = sorted({each.row.lane for each in due})
    if len(lanes) == 1:
        middle = len(due) // 2
        return due[:middle], due[middle:]
    first = set(lanes[: len(lanes) // 2])
    return (
        [each for each in due if each.row.lane in first],
        [each for each in due if each.row.lane not in first],
    )


def _parsed(row: Schedule) -> Cron | str:
    try:
        return parse(row.cron, row.timezone)
    except BadSchedule as error:
        return str(error)


def _process_us() -> int:
    return int(monotonic() * 1e6)
