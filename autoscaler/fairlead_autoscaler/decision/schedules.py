"""Which schedules are active at an instant, by the clocks of their zones."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from fairlead.policy.autoscale import DAYS, Autoscale, Schedule

_STRIDE = timedelta(minutes=1)
"""Schedules begin and end at whole minutes."""


@dataclass(frozen=True, slots=True)
class ScheduledBounds:
    """The highest floor and the lowest cap of active schedules; None: none sets one."""

    min: int | None
    max: int | None


def is_active(schedule: Schedule, instant: datetime) -> bool:
    """Return whether a schedule is active at an instant: its start is inside, its end is not.

    The zone's local time counts, so that a schedule starts at eight in summer and in winter.
    One that ends at or before its start runs into the next day.
    """
    local = instant.astimezone(ZoneInfo(schedule.zone))
    today, shown = DAYS[local.weekday()], local.time()
    if schedule.start < schedule.end:
        return today in schedule.days and schedule.start <= shown < schedule.end
    yesterday = DAYS[local.weekday() - 1]
    began_today = today in schedule.days and shown >= schedule.start
    return began_today or (yesterday in schedule.days and shown < schedule.end)


def bounds(config: Autoscale, now: datetime, *, ahead_seconds: float) -> ScheduledBounds:
    """Return the bounds of schedules: caps as of now, floors also one start delay ahead.

    A floor is requested early, so that its pods are up when it begins.
    """
    floors = [
        each.min
        for each in config.schedules
        if each.min is not None and _is_active_within(each, now, ahead_seconds)
    ]
    caps = [
        each.max for each in config.schedules if each.max is not None and is_active(each, now)
    ]
    return ScheduledBounds(max(floors, default=None), min(caps, default=None))


def _is_active_within(schedule: Schedule, now: datetime, ahead_seconds: float) -> bool:
    until, instant = now + timedelta(seconds=ahead_seconds), now
    while instant < until:
        if is_active(schedule, instant):
            return True
        instant += _STRIDE
    return is_active(schedule, until)
