"""The statements of cron over its session; each autocommits."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from psycopg import Cursor
from psycopg.rows import args_row, scalar_row

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.db.statements import integers
from fairlead_scheduler.cron.missed_fires import Fires
from fairlead_scheduler.cron.reading import Place, ScheduleRow
from fairlead_scheduler.cron.timetable import Schedule

_PACKAGE = __package__ or ""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class DueSchedule(NamedTuple):
    """A schedule with the decision about its fires."""

    row: Schedule
    fires: Fires
    problem: str | None
    """What the schedule is to say of itself once they are inserted."""
    charged: int
    """How many fires its tenant's rate was charged for them."""


class ScheduleStore:
    """The statements of one term."""

    def __init__(self, connection: Connection, *, epoch: int) -> None:
        self._connection = connection
        self._epoch = epoch
        self._read: Cursor[ScheduleRow] = connection.cursor(
            binary=True, row_factory=args_row(_row)
        )
        self._fire: Cursor[int] = connection.cursor(binary=True, row_factory=scalar_row)

    def read(self, after: Place, limit: int) -> list[ScheduleRow]:
        """Read so many schedules behind a place, disabled ones as well."""
        parameters = {**after._asdict(), "limit": limit}
        return self._read.execute(statements.load(_PACKAGE, "schedules"), parameters).fetchall()

    def fire(self, due: Sequence[DueSchedule]) -> Collection[int]:
        """Insert the fires of schedules, all or none of them.

        Returns the places in `due` of those that were found as they were read: others have
        changed or are locked, or another scheduler leads.
        """
        fires = [(place, fire) for place, each in enumerate(due) for fire in each.fires.times]
        parameters = {
            "epoch": self._epoch,
            "tenants": [each.row.tenant for each in due],
            "names": [each.row.name for each in due],
            "crons": [each.row.cron for each in due],
            "timezones": [each.row.timezone for each in due],
            "considered_us": integers(
                microseconds(each.fires.considered_until) for each in due
            ),
            "problems": [each.problem for each in due],
            "places": integers(place + 1 for place, _ in fires),
            "fires_us": integers(microseconds(fire) for _, fire in fires),
        }
        self._fire.execute(statements.load(_PACKAGE, "fire"), parameters)
        return {place - 1 for place in self._fire.fetchall()}

    def record_problem(self, row: Schedule, problem: str) -> None:
        """Record why a schedule cannot be fired; does nothing when deposed."""
        parameters = {
            "epoch": self._epoch,
            "tenant": row.tenant,
            "name": row.name,
            "problem": problem,
        }
        self._connection.execute(statements.load(_PACKAGE, "record_problem"), parameters)


def instant(since_epoch_us: int) -> datetime:
    """Return the instant so many microseconds after 1970."""
    return _EPOCH + timedelta(microseconds=since_epoch_us)


def microseconds(of: datetime) -> int:
    """Return how many microseconds after 1970 an instant is."""
    return (of - _EPOCH) // _MICROSECOND


def _row(now_us: int, login: str, enabled: object, *schedule: object) -> ScheduleRow:
    return ScheduleRow(now_us, login, enabled is True, Schedule._make(schedule))
