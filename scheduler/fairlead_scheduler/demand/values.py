"""What is read for the counts of pools' needs, and what is published of them."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

_NO_SPANS: Mapping[int, int] = {}


class DemandInputs(NamedTuple):
    """What was read from the database for the next counts."""

    slots: Mapping[str, int]
    """The slots of a pod of each pool once all of its processes are up, where one is known."""
    lengths: Mapping[tuple[str, str], int]
    """How many due jobs, in flight or not, lanes have; counted up to a number."""
    due: Mapping[str, Mapping[int, int]]
    """How many jobs of each queue fall due in each span of `DUE_SPAN_SECONDS` since 1970."""


NO_INPUTS = DemandInputs({}, {}, {})
DUE_SPAN_SECONDS = 5
WITHIN_SECONDS = (5, 20, 60, 180)
FIRES_WITHIN_SECONDS = 600
"""How far ahead the fires of schedules are said: as far as a pod may wait for a node."""


class FiresInSpan(NamedTuple):
    """What schedules will fire in one span of time."""

    at: int
    """When the span begins, in seconds since 1970."""
    jobs: int
    slot_seconds: float


class PoolDemand(NamedTuple):
    """What a pool needs: a row of `pool_demand`, but for the leader's epoch."""

    pool: str
    at_us: int
    became_runnable_total: int
    work_slot_seconds: float
    slots_useful: int
    slots_kept: int
    slots_allowed: int
    oldest_us: int | None
    scheduled_slot_seconds: tuple[float, ...]
    service_mean: float
    service_variance: float
    begins: bool
    """Whether nothing waited when it was published last, and now something does."""
    fires: tuple[FiresInSpan, ...] = ()
    """What schedules will fire, the soonest first."""


class PodSlots(NamedTuple):
    """The slots of a live worker, and so of its pod."""

    worker: int
    """Its id: the larger, the younger."""
    pool: str
    slots_full: int | None
    """Once all of its processes are up; None: it does not report it."""
    slots: int


def pod_slots(workers: Iterable[PodSlots]) -> dict[str, int]:
    """Return the slots of a pod of each pool, by its youngest worker.

    Where that one does not report it, it is the most that any has now: processes may still
    start.
    """
    most: dict[str, int] = {}
    youngest: dict[str, PodSlots] = {}
    for each in workers:
        most[each.pool] = max(each.slots, most.get(each.pool, 0))
        youngest[each.pool] = max(each, youngest.get(each.pool, each))
    return {pool: each.slots_full or most[pool] for pool, each in youngest.items()}


def due_slot_seconds(
    due: Mapping[str, Mapping[int, int]], means_us: Mapping[str, int], now_us: int
) -> tuple[float, ...]:
    """Return the work of some queues that falls due within each of `WITHIN_SECONDS`.

    Jobs that are late to be promoted are included. A span that has begun by then counts whole.

    Args:
        due: See `DemandInputs`.
        means_us: The mean run time of each of the queues that count.
        now_us: The database's time.
    """
    now = now_us / 1e6
    found = [0.0] * len(WITHIN_SECONDS)
    for queue, mean_us in means_us.items():
        for span, jobs in due.get(queue, _NO_SPANS).items():
            ahead = span * DUE_SPAN_SECONDS - now
            for place, within in enumerate(WITHIN_SECONDS):
                if ahead < within:
                    found[place] += jobs * mean_us / 1e6
    return tuple(found)


def fires_ahead(
    fires: Mapping[str, Mapping[int, int]], means_us: Mapping[str, int], now_us: int
) -> tuple[FiresInSpan, ...]:
    """Return what schedules will fire into some queues, span by span.

    Args:
        fires: How many jobs of each queue, by spans as in `DemandInputs`.
        means_us: The mean run time of each of the queues that count.
        now_us: The database's time; a span that is over by then is left out.
    """
    jobs, work_us = dict[int, int](), dict[int, int]()
    for queue, mean_us in means_us.items():
        for span, count in fires.get(queue, _NO_SPANS).items():
            if (span + 1) * DUE_SPAN_SECONDS * 1_000_000 > now_us:
                jobs[span] = jobs.get(span, 0) + count
                work_us[span] = work_us.get(span, 0) + count * mean_us
    return tuple(
        FiresInSpan(span * DUE_SPAN_SECONDS, jobs[span], work_us[span] / 1e6)
        for span in sorted(jobs)
    )
