"""What schedules will fire soon, for the pools' demand: work that is known before it is there.

Every schedule counts with its next fire. Those after it, within the same time, are computed
once for all schedules of an expression, and as far as a moment allows.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from itertools import chain
from math import inf
from time import monotonic

from fairlead.cron_times import Cron
from fairlead_scheduler.cron.fire_rates import FireRates
from fairlead_scheduler.cron.store import instant, microseconds
from fairlead_scheduler.cron.timetable import Schedule
from fairlead_scheduler.demand.values import DUE_SPAN_SECONDS, FIRES_WITHIN_SECONDS

QueueSpans = Mapping[str, Mapping[int, int]]
"""How many fires each queue gets in each span of `DUE_SPAN_SECONDS` since 1970."""
CronOf = Callable[[Schedule], Cron | str]

_EVERY_SECONDS = 5.0
_UNWANTED_SECONDS = 1.0
_LEAST_SECONDS = 0.5
"""How soon after a count the next one may be made when something has fired."""
_DUTY = 0.05
_FIRES_MAX = 50_000
_FOLLOWING_SECONDS = 0.01
_SECOND_US = 1_000_000


class FiresAhead:
    """Counts them now and then, and publishes the counts.

    Args:
        wanted: Whether any pool's demand is published.
        publish: Takes the counts.
        fires_per_second: How many fires of a tenant go in a second.
        interval_seconds: How close together fires of a schedule may be that no administrator
            has made.
    """

    def __init__(
        self,
        *,
        wanted: Callable[[], bool],
        publish: Callable[[QueueSpans], None],
        fires_per_second: int,
        interval_seconds: int,
    ) -> None:
        self._wanted = wanted
        self._publish = publish
        self._fires_per_second = fires_per_second
        self._interval = timedelta(seconds=interval_seconds)
        self._due = self._least_due = -inf

    @property
    def rest_seconds(self) -> float:
        """How long until they are to be counted again."""
        return max(0.0, self._due - monotonic())

    def fired(self) -> None:
        """Take that something has fired: it is not ahead any more."""
        self._due = min(self._due, self._least_due)

    def count(
        self,
        upcoming: Callable[[int], Iterable[tuple[Schedule, int]]],
        cron_of: CronOf,
        now_us: int,
    ) -> None:
        """Count and publish them if that is due.

        Args:
            upcoming: Yields schedules with their next fires up to an instant.
            cron_of: Returns a schedule's expression, or why there is none.
            now_us: The database's time.
        """
        began = monotonic()
        if began < self._due:
            return
        wanted = self._wanted()
        if wanted:
            until_us = now_us + FIRES_WITHIN_SECONDS * _SECOND_US
            following = Following(cron_of, until_us, self._interval)
            fires = chain.from_iterable(
                _all_of(row, at_us, following) for row, at_us in upcoming(until_us)
            )
            self._publish(by_span(fires, self._fires_per_second, until_us))
        took = monotonic() - began
        self._least_due = began + max(_LEAST_SECONDS, took / _DUTY)
        rest = _EVERY_SECONDS if wanted else _UNWANTED_SECONDS
        self._due = max(self._least_due, began + rest)


class Following:
    """The fires after a schedule's next one, up to an instant; none once it takes too long."""

    def __init__(self, cron_of: CronOf, until_us: int, interval: timedelta) -> None:
        self._cron_of = cron_of
        self._until_us = until_us
        self._interval = interval
        self._known: dict[tuple[str, str, int, bool], tuple[int, ...]] = {}
        self._stops = monotonic() + _FOLLOWING_SECONDS

    def of(self, row: Schedule, at_us: int) -> tuple[int, ...]:
        """Return them, ascending."""
        key = (row.cron, row.timezone, at_us, row.by_admin)
        if key not in self._known:
            self._known[key] = tuple(self._compute(row, at_us))
        return self._known[key]

    def _compute(self, row: Schedule, at_us: int) -> Iterator[int]:
        cron = self._cron_of(row)
        if isinstance(cron, str) or monotonic() >= self._stops:
            return
        last = instant(at_us)
        for fire in cron.between(last, instant(self._until_us)):
            if row.by_admin or fire - last >= self._interval:
                last = fire
                yield microseconds(fire)
            if monotonic() >= self._stops:
                return


def by_span(
    fires: Iterable[tuple[Schedule, int]], per_second: int, until_us: int
) -> dict[str, dict[int, int]]:
    """Return how many fires each queue gets, by spans of time.

    Those of a tenant that fire too many at once come as fast as its rate lets them.
    """
    rates, found = FireRates(per_second), dict[str, dict[int, int]]()
    soonest = sorted(fires, key=lambda fire: fire[1])[:_FIRES_MAX]
    for row, at_us in soonest:
        turn_us = rates.turn_us(row.tenant, at_us)
        rates.charge(row.tenant, 1, at_us)
        if turn_us <= until_us:
            spans = found.setdefault(row.queue, {})
            span = turn_us // (DUE_SPAN_SECONDS * _SECOND_US)
            spans[span] = spans.get(span, 0) + 1
    return found


def _all_of(row: Schedule, at_us: int, following: Following) -> Iterator[tuple[Schedule, int]]:
    yield row, at_us
    for later_us in following.of(row, at_us):
        yield row, later_us
