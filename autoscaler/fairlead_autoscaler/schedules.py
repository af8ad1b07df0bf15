"""Which schedules hold at an instant, by the clocks of their zones."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from fairlead.policy.autoscale import DAYS, Autoscale, Schedule

_STRIDE = timedelta(minutes=1)
"""Schedules begin and end at whole minutes."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The highest floor and the lowest cap of schedules; None: no schedule says one."""

    min: int | None
    max: int | None


def holds(schedule: Schedule, instant: datetime) -> bool:
    """Tell whether an instant is within a schedule: its start is, its end is not.

    The zone's clock is asked what it shows, so that a schedule starts at eight in summer and in
    winter. One that ends at or before its start runs into the next day.
    """
    local = instant.astimezone(ZoneInfo(schedule.zone))
    today, shown = DAYS[local.weekday()], local.time()
    if schedule.start < schedule.end:
        return today in schedule.days and schedule.start <= shown < schedule.end
    yesterday = DAYS[local.weekday() - 1]
    began_today = today in schedule.days and shown >= schedule.start
    return began_today or (yesterday in schedule.days and shown < schedule.end)


def bounds(config: Autoscale, now: datetime, *, ahead_seconds: float) -> Bounds:
    """Return what schedules say: caps as of now, floors also of a start delay ahead.

    A floor is asked for early, so that its pods are there when it begins.
    """
    floors = [
        each.min
        for each in config.schedules
        if each.min is not None and _holds_within(each, now, ahead_seconds)
    ]
    caps = [each.max for each in config.schedules if each.max is not None and holds(each, now)]
    return Bounds(max(floors, default=None), min(caps, default=None))


def _holds_within(schedule: Schedule, now: datetime, ahead_seconds: float) -> bool:
    until, instant = now + timedelta(seconds=ahead_seconds), now
    while instant < until:
        if holds(schedule, instant):
            return True
        instant += _STRIDE
    return holds(schedule, until)
