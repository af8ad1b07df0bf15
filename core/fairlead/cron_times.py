"""When a schedule fires: cron expressions in a time zone.

`cronsim` finds the local times that match an expression, on a clock without zones; what they
mean in a zone is decided here, by one rule that the author of a schedule can keep in mind:

* An expression that names hours (`30 2 * * *`) means times of the local day. Each fires once on
  every day that has it. A time that the clocks jump over fires at the end of the jump, several
  of them as one; a time that the clocks show twice fires the first time only.
* An expression for every hour (`*/15 * * * *`) means elapsed time: it fires whenever the local
  clock shows a matching minute, in an hour that is repeated as well.

Debian's cron has the same two kinds; it tells them apart by a star in either field, and so
loses `*/15 2 * * *` on the day that has no such hour.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

_SECOND = timedelta(seconds=1)
_STRIDE = timedelta(hours=6)
_HOURS = 24


class BadSchedule(Exception):
    """The expression or the zone cannot be used; the message is one sentence for people."""


@dataclass(frozen=True, slots=True)
class Cron:
    """An expression in a zone; made by `parse`."""

    expression: str
    zone: ZoneInfo
    every_hour: bool

    def after(self, instant: datetime) -> Iterator[datetime]:
        """Yield every fire after the instant, in UTC, ever later; it ends when there is none.

        What is yielded does not depend on where it starts.
        """
        return self._elapsed(instant) if self.every_hour else self._local(instant)

    def between(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """Yield every fire after the one instant and not after the other."""
        for fire in self.after(after):
            if fire > until:
                return
            yield fire

    def _local(self, instant: datetime) -> Iterator[datetime]:
        """Map local times to instants; the order of one is the order of the other."""
        last = _whole(instant)
        for wall in CronSim(self.expression, _wall(last, self.zone)):
            fire = self._first_instant(wall)
            if fire is not None and fire > last:
                last = fire
                yield fire

    def _first_instant(self, wall: datetime) -> datetime | None:
        """Return when the zone's clock first shows this time, or jumps over it.

        None when it jumps over the whole day, as Samoa's did on 30 December 2011.
        """
        aware = wall.replace(tzinfo=self.zone)
        instant = aware.astimezone(UTC)
        if _wall(instant, self.zone) == wall:
            return instant
        # In a jump, the offset before it points behind it, and the one after it before it.
        before = aware.replace(fold=1).astimezone(UTC)
        jump = _transition(before - _SECOND, instant, self.zone)
        if jump is None or _is_lost(wall.date(), jump, self.zone):
            return None
        return jump

    def _elapsed(self, instant: datetime) -> Iterator[datetime]:
        """Follow the clock through each stretch of time between two changes of it."""
        start = _whole(instant)
        while True:
            offset = _offset(start + _SECOND, self.zone)
            stretch_end: datetime | None = None
            seen_until = start
            for wall in CronSim(self.expression, (start + offset).replace(tzinfo=None)):
                fire = wall.replace(tzinfo=UTC) - offset
                stretch_end = _transition(seen_until + _SECOND, fire, self.zone)
                if stretch_end is not None:
                    break
                seen_until = max(seen_until, fire - _SECOND)
                yield fire
            if stretch_end is None:
                return
            start = stretch_end - _SECOND


def parse(expression: str, zone: str) -> Cron:
    """Return the schedule.

    Raises:
        BadSchedule: what is wrong, in one sentence.
    """
    try:
        found = ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise BadSchedule(
            f"timezone {zone!r} is no IANA zone: use a name such as 'Europe/Berlin' or 'UTC'"
        ) from None
    try:
        hours = CronSim(expression, datetime(2000, 1, 1)).hours  # noqa: DTZ001 - a local time
    except (CronSimError, ValueError, AssertionError) as error:
        raise BadSchedule(
            f"cron {expression!r} cannot be read ({error}): use five fields, minute hour day "
            "month weekday, or six with seconds first"
        ) from None
    return Cron(expression, found, every_hour=len(hours) == _HOURS)


def _whole(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(microsecond=0)


def _wall(instant: datetime, zone: ZoneInfo) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def _offset(instant: datetime, zone: ZoneInfo) -> timedelta:
    return instant.astimezone(zone).utcoffset() or timedelta(0)


def _transition(start: datetime, end: datetime, zone: ZoneInfo) -> datetime | None:
    """Return the first second after `start`, at most `end`, at which the zone's offset changes.

    Changes that cancel each other within six hours are not seen; no zone has had such.
    """
    offset = _offset(start, zone)
    low = start
    while low < end:
        high = min(low + _STRIDE, end)
        if _offset(high, zone) != offset:
            while high - low > _SECOND:
                middle = low + ((high - low) // 2 // _SECOND) * _SECOND
                if _offset(middle, zone) == offset:
                    low = middle
                else:
                    high = middle
            return high
        low = high
    return None


def _is_lost(day: date, jump: datetime, zone: ZoneInfo) -> bool:
    """Whether the clock jumped over all of the day."""
    return _wall(jump - _SECOND, zone) < datetime.combine(day, time()) and datetime.combine(
        day + timedelta(days=1), time()
    ) <= _wall(jump, zone)
