"""Which jobs are long, and how many of those may be in flight.

A worker cannot be taken from a running job, so the only cure for slots that are all on long
jobs is to keep some free of them. Whether a job is long is not certain before it ends: its
lane's mean is a guess, its producer's hint another, and a new lane has neither.
"""

from collections.abc import Mapping
from heapq import heapify, heappop, heappush, nsmallest

from fairlead_scheduler.limits.blocked_reasons import FREE, RESERVE
from fairlead_scheduler.ordering.lanes import InFlightJob, Lane, Queue
from fairlead_scheduler.ordering.level import Level
from fairlead_scheduler.policy.settings import ShortSettings

_STRETCH_MAX = 256


class LongJobs:
    """The long jobs in flight, of which there may be as many as there are unreserved slots."""

    __slots__ = ("_prior_samples", "_settings", "_slots", "ids")

    def __init__(self, settings: ShortSettings, prior_samples: int) -> None:
        self._settings = settings
        self._prior_samples = prior_samples
        self._slots = 1
        self.ids: set[int] = set()

    @property
    def longer_us(self) -> int:
        """From which run time on a job is long."""
        return self._settings.shorter_us

    @property
    def room(self) -> int:
        """How many long jobs more may be dispatched; not positive when none may."""
        return self._slots - len(self.ids)

    def resize(self, slots: int) -> None:
        """Compute the room from this number of live slots; long jobs may have one at least."""
        settings = self._settings
        kept = max(settings.lowest, slots * settings.per_10_000 // 10_000)
        self._slots = max(1, slots - kept)

    def count_long(self, in_flight_jobs: Mapping[int, InFlightJob]) -> None:
        """Count those in flight as long that are charged for so much."""
        longer_us = self.longer_us
        self.ids = {i for i, job in in_flight_jobs.items() if job.charged_us >= longer_us}

    def is_long(self, lane: Lane) -> bool:
        """Whether a lane's next job counts as long; it must have one at hand."""
        _, _, hint_us, _ = lane.heads.ready[0]
        mean = lane.mean
        if hint_us is not None:
            return mean.shrunk_us(hint_us, self._prior_samples) >= self.longer_us
        if mean.samples:
            return mean.value_us(0) >= self.longer_us
        return lane.in_flight > 0

    def stretch(self, lane: Lane, *, is_long: bool) -> int:
        """Return how many of a lane's next jobs count like the first, and may go."""
        if not lane.mean.samples:
            return 1
        alike = 0
        for _, _, hint_us, _ in lane.heads.ready:
            if hint_us is not None or alike >= _STRETCH_MAX:
                break
            alike += 1
        return max(1, min(alike, self.room) if is_long else alike)


def find_long_jobs(
    settings: ShortSettings | None,
    prior_samples: int,
    in_flight_jobs: Mapping[int, InFlightJob],
) -> LongJobs | None:
    """Return the long jobs in flight; None when no slots are reserved for short ones."""
    if settings is None:
        return None
    found = LongJobs(settings, prior_samples)
    found.count_long(in_flight_jobs)
    return found


class BlockedLongLanes:
    """Lanes of one queue that wait for a long job to end, in the order of their tags.

    Meanwhile short jobs may move virtual time on. Lanes that were lifted to it one by one would
    be level whenever they come back, and would then share by jobs instead of by slot-seconds;
    so it lifts all of them together.
    """

    __slots__ = ("_heap", "_lift", "lanes")

    def __init__(self) -> None:
        self.lanes: dict[Lane, int] = {}
        """Each with the lift that was in force when it came."""
        self._heap: list[tuple[int, int]] = []
        self._lift = 0

    def add(self, lane: Lane) -> None:
        """Take a lane in."""
        self.lanes[lane] = self._lift
        self.moved(lane)

    @property
    def entries(self) -> int:
        """How many heap entries there are, stale ones included."""
        return len(self._heap)

    def moved(self, lane: Lane) -> None:
        """Note that the tag of one of these lanes has changed."""
        heappush(self._heap, (lane.start - self.lanes[lane], lane.index))
        # While no lane may go none is taken out, and running ones are charged in each plan.
        if len(self._heap) > 2 * len(self.lanes) + 64:
            self._heap = [(each.start - base, each.index) for each, base in self.lanes.items()]
            heapify(self._heap)

    def remove(self, lane: Lane) -> None:
        """Remove a lane, with a tag as far behind V as it stood behind it."""
        lane.queue.lanes.time.move(lane, self._lift - self.lanes.pop(lane))

    def next_lanes(self, room: int, virtual: int, members: list[Lane]) -> list[Lane]:
        """Return the lanes with the smallest tags that have jobs at hand: unblock them."""
        heap = self._heap
        found: list[Lane] = []
        while heap and room > 0:
            key, index = heappop(heap)
            lane = members[index]
            base = self.lanes.get(lane)
            if base is not None and lane.start - base == key:
                self._lift = max(self._lift, virtual - key)
                found.append(lane)
                room -= 1 if lane.heads.ready else 0
        return found


class ShortJobReserve:
    """The lanes of one ledger that wait for a long job to end."""

    __slots__ = ("_queues", "_root")

    def __init__(self, root: Level[Queue]) -> None:
        self._root = root
        self._queues: dict[Queue, BlockedLongLanes] = {}

    def add(self, lane: Lane) -> None:
        """Take a lane in that has left its heap."""
        queue = lane.queue
        self._queues.setdefault(queue, BlockedLongLanes()).add(lane)
        self._count(queue)

    def moved(self, lane: Lane) -> None:
        """Note that a lane's tag has changed, if it is one of these."""
        if lane.blocked_by == RESERVE:
            self._queues[lane.queue].moved(lane)

    def reweigh(self, lane: Lane, weight: float) -> None:
        """Give a lane another weight, and its place by the tag that it then has."""
        self.remove(lane)
        lane.queue.lanes.reweigh(lane, weight)
        self.add(lane)

    def remove(self, lane: Lane) -> None:
        """Remove a lane."""
        self._queues[lane.queue].remove(lane)
        self._count(lane.queue)

    def lanes(self) -> list[Lane]:
        """Return all of them."""
        return [lane for lanes in self._queues.values() for lane in lanes.lanes]

    def next_queues(self, room: int) -> list[Queue]:
        """Return the queues whose turn it is, for so many jobs; V lifts the resting ones.

        Queues that something else blocks come last: they could not use the room.
        """
        virtual = self._root.virtual
        resting = [queue for queue in self._queues if not queue.active]
        lift = virtual - min((queue.start for queue in resting), default=virtual)
        if lift > 0:
            for queue in resting:
                self._root.time.move(queue, lift)
        return nsmallest(room, self._queues, key=_turn_of)

    def next_lanes(self, queue: Queue, room: int, virtual: int) -> list[Lane]:
        """Return the lanes of a queue whose turn it is, for so many jobs: unblock them."""
        return self._queues[queue].next_lanes(room, virtual, queue.lanes.members)

    def _count(self, queue: Queue) -> None:
        lanes = self._queues[queue]
        queue.lanes.reserve_blocked = len(lanes.lanes)
        if not lanes.lanes:
            del self._queues[queue]
        self._root.reserve_blocked = len(self._queues)


def _turn_of(queue: Queue) -> tuple[bool, int]:
    return queue.blocked_by != FREE, queue.start
