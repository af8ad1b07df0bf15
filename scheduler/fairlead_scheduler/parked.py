"""Which lanes wait because as many long jobs are in flight as may be."""

from heapq import heapify, heappop, heappush, nsmallest

from fairlead_scheduler.books import Lane, Queue
from fairlead_scheduler.bounds import FREE, RESERVE
from fairlead_scheduler.order import Level


class Parking:
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

    def park(self, lane: Lane) -> None:
        """Take a lane in."""
        self.lanes[lane] = self._lift
        self.moved(lane)

    @property
    def entries(self) -> int:
        """How many entries there are, those included that are nobody's any more."""
        return len(self._heap)

    def moved(self, lane: Lane) -> None:
        """Heed that the tag of one of these lanes has changed."""
        heappush(self._heap, (lane.start - self.lanes[lane], lane.index))
        # While nobody may go nothing is taken out, and whoever runs is charged in each plan.
        if len(self._heap) > 2 * len(self.lanes) + 64:
            self._heap = [(each.start - base, each.index) for each, base in self.lanes.items()]
            heapify(self._heap)

    def leave(self, lane: Lane) -> None:
        """Let a lane go, with a tag as far behind V as it stood behind it."""
        lane.start += self._lift - self.lanes.pop(lane)

    def next_lanes(self, room: int, virtual: int, members: list[Lane]) -> list[Lane]:
        """Return those with the smallest tags that have jobs at hand: let them go."""
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


class Parked:
    """The lanes of one ledger that wait for a long job to end."""

    __slots__ = ("_queues", "_root")

    def __init__(self, root: Level[Queue]) -> None:
        self._root = root
        self._queues: dict[Queue, Parking] = {}

    def park(self, lane: Lane) -> None:
        """Take a lane in that has left its heap."""
        queue = lane.queue
        self._queues.setdefault(queue, Parking()).park(lane)
        self._count(queue)

    def moved(self, lane: Lane) -> None:
        """Heed that a lane's tag has changed, if it is one of these."""
        if lane.held == RESERVE:
            self._queues[lane.queue].moved(lane)

    def reweigh(self, lane: Lane, weight: float) -> None:
        """Give a lane another weight, and its place by the tag that it has then."""
        self.leave(lane)
        lane.queue.lanes.reweigh(lane, weight)
        self.park(lane)

    def leave(self, lane: Lane) -> None:
        """Let a lane go."""
        self._queues[lane.queue].leave(lane)
        self._count(lane.queue)

    def lanes(self) -> list[Lane]:
        """Return all of them."""
        return [lane for parking in self._queues.values() for lane in parking.lanes]

    def next_queues(self, room: int) -> list[Queue]:
        """Return the queues whose turn it is, for so many jobs; V lifts those that rest.

        Those that something else holds back come last: they could not use the room.
        """
        virtual = self._root.virtual
        resting = [queue for queue in self._queues if not queue.active]
        lift = virtual - min((queue.start for queue in resting), default=virtual)
        if lift > 0:
            for queue in resting:
                queue.start += lift
        return nsmallest(room, self._queues, key=_turn_of)

    def next_lanes(self, queue: Queue, room: int, virtual: int) -> list[Lane]:
        """Return the lanes of a queue whose turn it is, for so many jobs: let them go."""
        return self._queues[queue].next_lanes(room, virtual, queue.lanes.members)

    def _count(self, queue: Queue) -> None:
        parking = self._queues[queue]
        queue.lanes.parked = len(parking.lanes)
        if not parking.lanes:
            del self._queues[queue]
        self._root.parked = len(self._queues)


def _turn_of(queue: Queue) -> tuple[bool, int]:
    return queue.held != FREE, queue.start
