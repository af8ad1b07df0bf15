"""Filling one plan: whose job is next, and where its row goes."""

from collections.abc import Callable, Iterable
from functools import partial
from heapq import heappop, heappush, heapreplace

from fairlead_scheduler.books import Flight, Lane, Queue
from fairlead_scheduler.lanes import Heads
from fairlead_scheduler.ledger import Ledger
from fairlead_scheduler.order import INDEX_BITS, INDEX_MASK, NEVER, NEVER_KEY, OUT, TAG_SHIFT
from fairlead_scheduler.values import Planned

_planned: Callable[[tuple[int, int, int, int | None]], Planned] = partial(
    tuple[int | None, ...].__new__, Planned
)
"""Makes a `Planned` in half the time that calling it takes."""


class Picks:
    """The jobs of one plan, as they are picked."""

    __slots__ = ("_heads", "_ledger", "_prior_samples", "_quota", "doubtful", "jobs")

    def __init__(self, ledger: Ledger, heads: Heads, quota: float) -> None:
        self._ledger = ledger
        self._heads = heads
        self._quota = quota
        """In-flight jobs that all members of a level may have while others have less."""
        self._prior_samples = ledger.settings.prior_samples
        self.jobs: list[Planned] = []
        self.doubtful: list[int] = []
        if ledger.root.active:
            ledger.root.set_cap(quota / ledger.root.weight)

    def fill(self, room: int) -> None:
        """Pick up to `room` jobs: the queue with the smallest tag, in it the lane with it."""
        root = self._ledger.root
        while room > 0:
            heap = root.next_heap()
            if not heap:
                return
            queue = root.members[heap[0] & INDEX_MASK]
            limit: float = room
            if heap is root.ready:
                limit = min(limit, root.cap * queue.weight - queue.in_flight)
            room -= self._serve(queue, limit, _rival(heap), NEVER_KEY)
            heappop(heap)
            self._again(queue)

    def overtake(self, queues: Iterable[Queue], room: int) -> list[Queue]:
        """Pick up to `room` jobs of these queues whose rows go before some that wait already.

        Returns the queues for which there was no room.
        """
        rest = sorted(queues, key=_start_of)
        for place, queue in enumerate(rest):
            before = room
            while room > 0:
                served = self._overtake_once(queue, room)
                if not served:
                    break
                room -= served
            if room < before:
                self._again(queue)
            if room <= 0:
                return rest[place:]
        return []

    def _overtake_once(self, queue: Queue, room: int) -> int:
        own_tag, own_root_tag = 0, 0
        if queue.front() is not None:
            own_tag, last = queue.rows[-1]
            own_root_tag = last.root_tag
        heap = queue.lanes.next_heap()
        if not heap:
            return 0
        if heap[0] >> TAG_SHIFT < own_tag:
            return self._serve(queue, room, NEVER, own_tag << TAG_SHIFT)
        last_root_tag = self._ledger.last_root_tag
        if max(queue.start, own_root_tag) < last_root_tag:
            return self._serve(queue, room, last_root_tag, NEVER_KEY)
        return 0

    def _again(self, queue: Queue) -> None:
        """Enter a queue by its new tag, if it has anything more to offer."""
        queue.key = OUT
        if queue.active and queue.lanes.next_heap():
            self._ledger.root.put(queue)

    def _serve(self, queue: Queue, limit: float, rival: int, bar: int) -> int:
        """Pick up to `limit` jobs of a queue, until its tag reaches `rival`; returns how many.

        Only lanes whose keys are below the `bar` are served.
        """
        ledger, lanes = self._ledger, queue.lanes
        share = queue.weight / ledger.root.weight
        lanes.set_cap(self._quota * share / lanes.weight)
        queue.front()
        before = len(self.jobs)
        left = limit
        while left > 0:
            heap = lanes.next_heap()
            if not heap or heap[0] >= bar:
                break
            lane = lanes.members[heap[0] & INDEX_MASK]
            lane_left = left
            if heap is lanes.ready:
                lane_left = min(left, lanes.cap * lane.weight - lane.in_flight)
            left -= self._run(lane, lane_left, min(_rival(heap), bar >> TAG_SHIFT), rival)
            self._return(lane, heap)
            if queue.start >= rival:
                break
        served = len(self.jobs) - before
        if served:
            queue.in_flight += served
            ledger.unclaimed += served
            ledger.root.top = max(ledger.root.top, queue.start)
            ledger.last_root_tag = max(ledger.last_root_tag, queue.rows[-1][1].root_tag)
        return served

    def _return(self, lane: Lane, heap: list[int]) -> None:
        """Put the lane on top of the heap where its new tag belongs, or let it rest."""
        heads = lane.heads
        if len(heads.ready) <= heads.mark:
            self._heads.ran_low(heads)
        if not heads.ready:
            heappop(heap)
            lane.key = OUT
            if heads.front is None:
                self._ledger.rest(lane)
            return
        in_flight, lanes = lane.in_flight, lane.queue.lanes
        key = lane.key = (lane.start << 1 | (in_flight > 0)) << INDEX_BITS | lane.index
        if heap is lanes.ready and in_flight >= lanes.cap * lane.weight:
            heappop(heap)
            heappush(lanes.capped, key)
        else:
            heapreplace(heap, key)

    def _run(self, lane: Lane, limit: float, lane_rival: int, queue_rival: int) -> int:
        """Pick up to `limit` jobs of a lane, until a tag reaches its rival's; say how many."""
        ledger, queue, heads = self._ledger, lane.queue, lane.heads
        floor, flights, rows, ready = ledger.floor, ledger.flights, queue.rows, heads.ready
        rank = heads.front.rank if heads.front is not None else 0
        lane_start, queue_start = lane.start, queue.start
        expected_us = lane.mean.shrunk_us(queue.prior_us, self._prior_samples)
        served = 0
        while ready and served < limit:
            head = ready.popleft()
            job_id, _, hint_us, seen_us = head
            if job_id in flights:
                self.doubtful.append(job_id)
                continue
            cost_us = expected_us
            if hint_us is not None:
                cost_us = lane.mean.shrunk_us(hint_us, self._prior_samples)
            root_tag = max(floor, queue_start)
            flight = flights[job_id] = Flight(lane, head, rank, root_tag, cost_us)
            if rows and lane_start >= rows[-1][0]:
                last_tag = rows[-1][1].root_tag
                if last_tag > root_tag:
                    root_tag = flight.root_tag = last_tag
                rows.append((lane_start, flight))
            else:
                root_tag = self._place(lane_start, flight)
            self.jobs.append(_planned((job_id, root_tag, cost_us, seen_us)))
            served += 1
            lane_start += cost_us if lane.weight == 1.0 else round(cost_us / lane.weight)
            queue_start += cost_us if queue.weight == 1.0 else round(cost_us / queue.weight)
            if lane_start >= lane_rival or queue_start >= queue_rival:
                break
        lane.start, queue.start = lane_start, queue_start
        lane.in_flight += served
        queue.lanes.top = max(queue.lanes.top, lane_start)
        return served

    def _place(self, tag: int, flight: Flight) -> int:
        """Place a queue's first unclaimed row, or one that overtakes; returns its tag."""
        queue = flight.lane.queue
        if not queue.rows:
            queue.rows.append((tag, flight))
            self._ledger.show(flight)
        elif queue.overtake(tag, flight, self._ledger.floor):
            self._ledger.show(flight)
        return flight.root_tag


def _rival(heap: list[int]) -> int:
    """Return a bound for the start tag of the member after the one on top."""
    if len(heap) > 2:
        return min(heap[1], heap[2]) >> TAG_SHIFT
    return heap[1] >> TAG_SHIFT if len(heap) > 1 else NEVER


def _start_of(queue: Queue) -> int:
    return queue.start
