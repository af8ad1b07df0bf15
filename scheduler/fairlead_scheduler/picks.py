"""Filling one plan: whose job is next, and where its row goes."""

from collections.abc import Callable, Iterable
from functools import partial
from heapq import heappop, heappush, heapreplace
from math import ceil

from fairlead_scheduler.books import Flight, Lane, Queue
from fairlead_scheduler.lanes import Heads
from fairlead_scheduler.ledger import Ledger
from fairlead_scheduler.order import INDEX_BITS, INDEX_MASK, NEVER, OUT
from fairlead_scheduler.values import Planned

_planned: Callable[[tuple[int, int, int, int | None]], Planned] = partial(
    tuple[int | None, ...].__new__, Planned
)
"""Makes a `Planned` in half the time that calling it takes."""


class Picks:
    """The jobs of one plan, as they are picked."""

    __slots__ = ("_heads", "_lag_us", "_ledger", "_prior_samples", "_quota", "doubtful", "jobs")

    def __init__(self, ledger: Ledger, heads: Heads, quota: float, lag_us: int) -> None:
        self._ledger = ledger
        self._heads = heads
        self._quota = quota
        """In-flight jobs that the members of a level share before they stand back."""
        self._lag_us = lag_us
        self._prior_samples = ledger.settings.prior_samples
        self.jobs: list[Planned] = []
        self.doubtful: list[int] = []
        if ledger.root.active:
            ledger.root.limit(quota, lag_us)

    def fill(self, room: int) -> None:
        """Pick up to `room` jobs: the queue with the smallest tag, in it the lane with it."""
        root = self._ledger.root
        while room > 0:
            heap = root.heap()
            if not heap:
                return
            queue = root.members[heap[0] & INDEX_MASK]
            limit = room
            if heap is root.ready:
                limit = min(room, ceil(root.cap * queue.weight) - queue.in_flight)
            room -= self._serve(queue, limit, max(root.rival(), queue.start + 1), NEVER)
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
            own_tag, own_root_tag = queue.tags[-1], queue.rows[-1].root_tag
        first = queue.lanes.first()
        if first is None:
            return 0
        if first.start < own_tag:
            return self._serve(queue, room, NEVER, own_tag)
        last_root_tag = self._ledger.last_root_tag
        if max(queue.start, own_root_tag) < last_root_tag:
            return self._serve(queue, room, last_root_tag, NEVER)
        return 0

    def _again(self, queue: Queue) -> None:
        """Enter a queue by its new tag, if it has anything more to offer."""
        queue.key = OUT
        if queue.active and queue.lanes.first() is not None:
            self._ledger.root.put(queue)

    def _serve(self, queue: Queue, limit: int, rival: int, bar: int) -> int:
        """Pick up to `limit` jobs of a queue, until its tag reaches `rival`; say how many.

        Only lanes whose tags are below the `bar` are served.
        """
        ledger = self._ledger
        share = self._quota * queue.weight / ledger.root.weight
        queue.lanes.limit(share, self._lag_us)
        queue.front()
        before = len(self.jobs)
        self._take(queue, before + limit, rival, bar)
        served = len(self.jobs) - before
        if served:
            queue.in_flight += served
            ledger.unclaimed += served
            ledger.last_root_tag = max(ledger.last_root_tag, queue.rows[-1].root_tag)
        return served

    def _take(self, queue: Queue, jobs_max: int, rival: int, bar: int) -> None:
        """Take heads, one at a time from whichever lane is first: the hot loop."""
        jobs, flights, lanes = self.jobs, self._ledger.flights, queue.lanes
        ready, capped, cap, setback = lanes.ready, lanes.capped, lanes.cap, lanes.setback
        members, rows, tags, queue_weight = lanes.members, queue.rows, queue.tags, queue.weight
        queue_start, first = queue.start, queue.first
        while (ready or capped) and len(jobs) < jobs_max and queue_start < rival:
            behind = not ready or (capped and capped[0] + setback < ready[0])
            heap = capped if behind else ready
            lane = members[heap[0] & INDEX_MASK]
            if lane.key != heap[0]:
                heappop(heap)
                continue
            start, heads = lane.start, lane.heads
            if start >= bar:
                return
            head = heads.ready.popleft()
            job_id, _, hint_us, seen_us = head
            if job_id in flights:
                self.doubtful.append(job_id)
            else:
                cost_us = lane.expected_us if hint_us is None else self._hinted(lane, hint_us)
                flight = Flight(lane, head, heads.rank, queue_start, cost_us)
                flights[job_id] = flight
                if len(tags) > first and start >= tags[-1]:
                    last_tag = rows[-1].root_tag + start - tags[-1]
                    flight.root_tag = max(queue_start, last_tag)
                    rows.append(flight)
                    tags.append(start)
                elif queue.place(start, flight, self._ledger.floor):
                    self._ledger.show(flight)
                jobs.append(_planned((job_id, flight.root_tag, cost_us, seen_us)))
                start += cost_us if lane.weight == 1.0 else round(cost_us / lane.weight)
                queue_start += cost_us if queue_weight == 1.0 else round(cost_us / queue_weight)
                lane.start, queue.start = start, queue_start
                lane.in_flight += 1
            if len(heads.ready) <= heads.mark and self._low(lane, heap):
                continue
            key = lane.key = (start << 1 | 1) << INDEX_BITS | lane.index
            if behind or lane.in_flight < cap * lane.weight:
                heapreplace(heap, key)
            else:
                heappop(heap)
                heappush(capped, key)

    def _hinted(self, lane: Lane, hint_us: int) -> int:
        return lane.mean.shrunk_us(hint_us, self._prior_samples)

    def _low(self, lane: Lane, heap: list[int]) -> bool:
        """Say so to the heads; when nothing is at hand the lane, on top of the heap, leaves."""
        heads = lane.heads
        self._heads.ran_low(heads)
        if heads.ready:
            return False
        heappop(heap)
        lane.key = OUT
        if heads.front is None:
            self._ledger.rest(lane)
        return True


def _start_of(queue: Queue) -> int:
    return queue.start
