"""Which fires of a schedule to insert now, and what to do about those that were missed."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal

from fairlead.cron_times import Cron

Missed = Literal["skip", "coalesce", "catch_up"]

ON_TIME = timedelta(seconds=10)
"""A fire at most so late is not missed: a take-over takes up to four seconds."""

_FIRST_WINDOW = timedelta(seconds=15)
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Fires:
    """The decision about one schedule."""

    times: tuple[datetime, ...]
    """The fires to insert, ascending."""
    considered_until: datetime
    """The instant up to which every fire has been decided."""
    missed: int
    """How many fires were missed, whether fired later or skipped; counted up to a bound."""
    passed_over: bool = False
    """Whether some were passed over, for they come too soon after another."""


def decide(
    cron: Cron,
    missed: Missed,
    considered_until: datetime,
    now: datetime,
    fires_max: int,
    *,
    on_time: timedelta = ON_TIME,
) -> Fires:
    """Decide which fires to insert, of those after `considered_until` and not after `now`.

    Those at most `on_time` late fire always. Of the missed ones `skip` fires none, `coalesce`
    the latest, and `catch_up` each. It is at most `fires_max` at a time, and one more for
    `coalesce`: call again until nothing comes.
    """
    since = now - on_time
    if considered_until >= since or missed == "catch_up":
        times = tuple(islice(cron.between(considered_until, now), fires_max))
        late = sum(fire <= since for fire in times)
        return Fires(times, _considered(times, now, fires_max), late)
    late = sum(1 for _ in islice(cron.between(considered_until, since), fires_max))
    times = tuple(islice(cron.between(since, now), fires_max))
    until = _considered(times, now, fires_max)
    if missed == "coalesce" and late:
        times = (_latest(cron, considered_until, since), *times)
    return Fires(times, until, late)


def _considered(times: tuple[datetime, ...], now: datetime, fires_max: int) -> datetime:
    return times[-1] if len(times) == fires_max else now


def keep_apart(fires: Fires, cron: Cron, least: timedelta) -> Fires:
    """Pass over fires sooner than `least` after the one before, also those to come."""
    kept: list[datetime] = []
    for fire in fires.times:
        if not kept or fire - kept[-1] >= least:
            kept.append(fire)
    if not kept:
        return fires
    free = kept[-1] + least
    following = next(cron.after(kept[-1]), None)
    if following is None or following >= free:
        return fires
    considered_until = max(fires.considered_until, free - _SECOND)
    return Fires(tuple(kept), considered_until, fires.missed, passed_over=True)


def _latest(cron: Cron, after: datetime, until: datetime) -> datetime:
    """Return the last fire of a range that has one, looking back ever further for it."""
    window = _FIRST_WINDOW
    while True:
        last = max(cron.between(max(after, until - window), until), default=None)
        if last is not None:
            return last
        window *= 8
