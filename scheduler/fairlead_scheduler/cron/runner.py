"""Fire cron schedules: read them, compute what is due, insert the fires and their jobs.

What is due is inserted in batches. A schedule that cannot be parsed, decided or inserted gets a
`problem` and delays no other. All schedules are read every few seconds, page by page and up to
a number of each login; only changed or fired ones are planned.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from math import inf
from time import monotonic, sleep

import psycopg

from fairlead.cron_times import BadSchedule, Cron, parse
from fairlead.db.connect import Connection
from fairlead.db.error_text import one_line
from fairlead.errors import OVER_BACKLOG_SQLSTATE
from fairlead.runtime import log
from fairlead_scheduler.cron.batch_size import BatchSize
from fairlead_scheduler.cron.fire_rates import FireRates
from fairlead_scheduler.cron.fires_ahead import FiresAhead
from fairlead_scheduler.cron.full_lanes import FullLanes
from fairlead_scheduler.cron.late_fires import LateFires
from fairlead_scheduler.cron.missed_fires import ON_TIME, Fires, decide, keep_apart
from fairlead_scheduler.cron.reading import Beyond, Reading
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
_READ_AT_ONCE = 5000
"""Schedules of a page: what is due fires between two of them."""
_READ_AGAIN_SECONDS = 10.0
"""How long until a page that could not be read is tried again."""
_PLANNED_AT_ONCE = 200
_PLANNING_SECONDS = 0.02
"""How long a run plans at most, and rests if it has: else what is due waits for a login's new
schedules whose times are far apart, and so does the leader's loop, in the same process."""
_FIRES_AT_ONCE = 500
_BYTES_AT_ONCE = 16 * 1024 * 1024
"""A batch of a few times as much outlasts the statement timeout."""
_FEWEST_FIRES = 2
"""Fires of a schedule that a statement takes at least: one, and a missed one."""
_SET_ASIDE_US = 60_000_000
"""How long a schedule rests whose fire by itself outlasts the statement timeout."""
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
    """The schedules of one term over one session.

    Args:
        ahead: Says what will fire soon, where somebody wants to know.
    """

    def __init__(
        self,
        connection: Connection,
        settings: SchedulerSettings,
        *,
        epoch: int,
        metrics: Metrics,
        ahead: FiresAhead | None = None,
    ) -> None:
        self._ahead = ahead
        self._store = ScheduleStore(connection, epoch=epoch)
        self._settings = settings
        self._metrics = metrics
        self._timetable = Timetable()
        self._refused: set[Key] = set()
        """Schedules whose last attempt to fire was refused for the backlog limit."""
        self._beyond: frozenset[Key] = frozenset()
        """The first schedule of each login or tenant with too many which is not read."""
        self._full_lanes = FullLanes()
        self._rates = FireRates(settings.tenant_fires_per_second)
        self._size = BatchSize(_FIRES_AT_ONCE)
        self._delayed: set[Key] = set()
        """Schedules to which the rate of their tenant has promised a turn."""
        self._missed_fires, self._refused_fires = LateFires(), LateFires()
        self._late_due = self._failed_due = 0.0
        self._crons: dict[tuple[str, str], Cron | str] = {}
        self._reading = self._new_reading()
        self._read_due = self._read_seconds = 0.0
        self._unread: psycopg.Error | None = None
        """The error of the last read; it is raised when nothing is due."""
        self._clock_offset_us = 0
        """The database's clock minus this process's."""
        self._behind_since: float | None = monotonic()
        """Since when there has been something due; None: nothing is."""

    def tasks(self) -> tuple[PeriodicTask, ...]:
        """Return the task and its period."""
        return (PeriodicTask("fire", _READ_SECONDS, self.fire, rest=self._rest),)

    def fire(self) -> bool:
        """Plan changed and fire due schedules, a batch each; return whether more is due.

        Whether they can be read or not: those that are known fire.
        """
        if self._behind_since is None:
            self._behind_since = monotonic()
        if monotonic() >= self._read_due:
            try:
                self._read_page()
            except psycopg.Error as error:
                self._unread = error
        more = self._fire_due()
        if not more:
            self._behind_since = None
            self._count_ahead()
        self._log_late()
        if not more and self._unread is not None:
            unread, self._unread = self._unread, None
            raise unread
        return more

    def _fire_due(self) -> bool:
        """Plan what has changed and fire a batch of what is due.

        If that fails, whatever the error, what it had taken is read again.
        """
        now_us = self._clock_offset_us + _process_us()
        due: list[DueSchedule] = []
        try:
            self._plan_changed()
            due.extend(self._take_due(now_us))
            self._insert(due, now_us)
        except Exception:
            lost = self._timetable.forget_taken()
            for each in due:
                if each.row.key in lost:
                    self._refund(each, now_us)
            raise
        return self._timetable.next_us == 0

    def _count_ahead(self) -> None:
        """Say what will fire soon, once everything that is due has fired."""
        if self._ahead is not None:
            now_us = self._clock_offset_us + _process_us()
            self._ahead.count(self._timetable.upcoming, self._cron, now_us)

    def _plan_changed(self) -> None:
        """Plan schedules that have changed, up to a number and a time."""
        until = monotonic() + _PLANNING_SECONDS
        for _ in range(_PLANNED_AT_ONCE):
            for changed in self._timetable.take_unplanned(1):
                self._plan(changed)
            if monotonic() >= until:
                sleep(_PLANNING_SECONDS)
                return

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
        count_seconds = inf if self._ahead is None else self._ahead.rest_seconds
        return max(0.0, min(ahead_us / 1e6, self._read_due - monotonic(), count_seconds))

    def _read_page(self) -> None:
        """Read on through the schedules, a page, and find those that changed.

        If that fails, it goes on there after a while.
        """
        began, reading = monotonic(), self._reading
        try:
            rows = self._store.read(reading.after, _READ_AT_ONCE)
            if rows:
                self._clock_offset_us = rows[0].now_us - _process_us()
            kept, beyond = reading.take(rows)
            self._timetable.add(kept)
            self._say_beyond(beyond)
        except psycopg.Error:
            self._read_due = monotonic() + _READ_AGAIN_SECONDS
            raise
        self._read_seconds += monotonic() - began
        if len(rows) < _READ_AT_ONCE:
            self._end_reading()

    def _end_reading(self) -> None:
        """Forget what the table has no more; begin anew after a rest."""
        reading, self._reading = self._reading, self._new_reading()
        self._timetable.keep(reading.seen)
        used = self._timetable.times
        self._crons = {times: cron for times, cron in self._crons.items() if times in used}
        for kept in (self._refused, self._delayed):
            if kept:
                kept.intersection_update(reading.seen)
        now_us = self._clock_offset_us + _process_us()
        self._full_lanes.forget(now_us)
        self._rates.forget(now_us)
        self._beyond = frozenset(reading.said)
        rest = max(_READ_SECONDS, self._read_seconds / _READ_SHARE)
        self._read_seconds, self._read_due = 0.0, monotonic() + rest

    def _new_reading(self) -> Reading:
        return Reading(self._settings.schedules_max, self._settings.login_schedules_max)

    def _say_beyond(self, beyond: Sequence[Beyond]) -> None:
        """Say which tenants and logins have too many, at the first that is not read."""
        for row, why in beyond:
            if row.key not in self._beyond:
                self._store.record_problem(row, why)
                _log.warning("schedules.too_many", tenant=row.tenant, schedule=row.name)
            self._reading.said.add(row.key)

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
        fires_left, bytes_left = self._size.fires, _BYTES_AT_ONCE
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
            self._fires_max(row),
            on_time=self._on_time(now_us),
        )
        if row.by_admin:
            return fires
        return keep_apart(
            fires, cron, timedelta(seconds=self._settings.schedule_interval_seconds)
        )

    def _fires_max(self, row: Schedule) -> int:
        """Return how many fires of a schedule one statement may insert."""
        fit = _BYTES_AT_ONCE // max(1, row.stored_bytes)
        return min(self._settings.catch_up_max, max(1, min(fit, self._size.fires)))

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
        """Insert the fires of schedules, all at once unless one is refused or it takes long."""
        if not due:
            return
        fires = sum(max(1, len(each.fires.times)) for each in due)
        if len(due) > 1 and fires > self._size.fires:
            for half in _halves(due):
                self._insert(half, now_us)
            return
        began = monotonic()
        try:
            found = self._store.fire(due)
            self._size.took(monotonic() - began)
        except psycopg.DatabaseError as error:
            if isinstance(error, psycopg.errors.QueryCanceled):
                self._size.cancelled(fires)
            if error.sqlstate != OVER_BACKLOG_SQLSTATE and not isinstance(error, _REFUSALS):
                raise
            self._divide(due, error, now_us)
            return
        if self._ahead is not None:
            self._ahead.fired()
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
        elif len(due) == 1 and isinstance(refusal, psycopg.errors.QueryCanceled):
            self._refund(due[0], now_us)
            self._set_aside(due[0], now_us)
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

    def _set_aside(self, due: DueSchedule, now_us: int) -> None:
        """Let a schedule rest whose fire took too long; one of many fires is tried again."""
        row = due.row
        self._refused.discard(row.key)
        if len(due.fires.times) > _FEWEST_FIRES:
            self._timetable.forget(row.key)
            return
        self._timetable.enter(row, now_us + _SET_ASIDE_US)
        self._metrics.cron_set_aside.inc()
        _log.warning("schedule.set_aside", tenant=row.tenant, schedule=row.name)
        self._store.record_problem(
            row, "inserting its job takes too long: it is tried again in a minute"
        )

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
