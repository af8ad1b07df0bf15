"""Filling one plan: whose job is next, and where its row goes."""

from collections.abc import Iterable

from fairlead_scheduler.books import Flight, Lane, Queue
from fairlead_scheduler.lanes import Heads, StreamHeads
from fairlead_scheduler.ledger import Ledger
from fairlead_scheduler.order import NEVER
from fairlead_scheduler.values import Planned


class Picks:
    """The jobs of one plan, as they are picked."""

    __slots__ = ("_heads", "_ledger", "_quota", "doubtful", "jobs")

    def __init__(self, ledger: Ledger, heads: Heads, quota: float) -> None:
        self._ledger = ledger
        self._heads = heads
        self._quota = quota
        """In-flight jobs that all members of a level may have while others have less."""
        self.jobs: list[Planned] = []
        self.doubtful: list[int] = []
        if ledger.root.active:
            ledger.root.set_cap(quota / ledger.root.weight)

    def fill(self, room: int) -> None:
        """Pick up to `room` jobs: the queue with the smallest tag, in it the lane with it."""
        root = self._ledger.root
        while room > 0:
            turn = root.take()
            if turn is None:
                return
            queue, rival, limit = turn
            room -= self._serve(queue, min(room, limit), rival, NEVER)
            self._again(queue)

    def overtake(self, queues: Iterable[Queue], room: int) -> list[Queue]:
        """Pick up to `room` jobs of these queues whose rows go before some that wait already.

        Returns the queues for which there was no room.
        """
        rest = sorted(queues, key=_start_of)
        for place, queue in enumerate(rest):
            while room > 0:
                served = self._overtake_one(queue, room)
                if not served:
                    break
                room -= served
            self._again(queue)
            if room <= 0:
                return rest[place:]
        return []

    def _overtake_one(self, queue: Queue, room: int) -> int:
        rows = queue.rows
        own_tag, own_root_tag = 0, 0
        if queue.front() is not None:
            own_tag, last = rows[-1]
            own_root_tag = last.root_tag
        if queue.lanes.next_start() < own_tag:
            return self._serve(queue, room, NEVER, own_tag)
        if max(queue.start, own_root_tag) < self._ledger.last_root_tag:
            return self._serve(queue, room, self._ledger.last_root_tag, NEVER)
        return 0

    def _again(self, queue: Queue) -> None:
        if queue.active and queue.lanes.next_start() != NEVER:
            self._ledger.root.put(queue)

    def _serve(self, queue: Queue, limit: int, rival: int, bar: int) -> int:
        """Pick up to `limit` jobs of a queue, until its tag reaches `rival`; returns how many.

        With a `bar`, only lanes whose tags are below it.
        """
        queue.front()
        lanes = queue.lanes
        share = queue.weight / self._ledger.root.weight
        lanes.set_cap(self._quota * share / lanes.weight)
        served = 0
        while served < limit and lanes.next_start() < bar:
            turn = lanes.take()
            if turn is None:
                break
            lane, lane_rival, lane_limit = turn
            lane_limit = min(limit - served, lane_limit)
            served += self._drain(lane, lane_limit, min(lane_rival, bar), rival)
            if queue.start >= rival:
                break
        return served

    def _drain(self, lane: Lane, limit: int, lane_rival: int, queue_rival: int) -> int:
        """Pick up to `limit` jobs of a lane, until a tag reaches its rival's; returns how many.

        Then the lane goes back among the others, or waits to be read, or rests.
        """
        heads = lane.heads
        served = 0
        stream = heads.front()
        while stream is not None and served < limit:
            held = len(stream.ready)
            served += self._pick(lane, stream, limit - served, lane_rival, queue_rival)
            self._heads.took(stream, held - len(stream.ready))
            stream = heads.front()
            if lane.start >= lane_rival or lane.queue.start >= queue_rival:
                break
        if stream is not None:
            lane.queue.lanes.put(lane)
        elif not heads.backlogged:
            self._ledger.rest(lane)
        return served

    def _pick(
        self, lane: Lane, stream: StreamHeads, limit: int, lane_rival: int, queue_rival: int
    ) -> int:
        """Pick up to `limit` heads of a stream; the hot loop, so everything is a local."""
        ledger, queue, rank, ready = self._ledger, lane.queue, stream.rank, stream.ready
        flights, floor, rows = ledger.flights, ledger.floor, queue.rows
        lane_start, queue_start = lane.start, queue.start
        lane_weight, queue_weight = lane.weight, queue.weight
        append, root_tag, served = self.jobs.append, 0, 0
        while ready and served < limit:
            head = ready.popleft()
            job_id, _, hint_us, seen_us = head
            if job_id in flights:
                self.doubtful.append(job_id)
                continue
            estimate_us = lane.estimate_us if hint_us is None else lane.hinted_us(hint_us)
            root_tag = max(floor, queue_start)
            flight = flights[job_id] = Flight(lane, head, rank, root_tag, estimate_us)
            if not rows or lane_start < rows[-1][0]:
                root_tag = self._place(lane_start, flight)
            else:
                last_tag = rows[-1][1].root_tag
                if last_tag > root_tag:
                    root_tag = flight.root_tag = last_tag
                rows.append((lane_start, flight))
            append(Planned(job_id, root_tag, estimate_us, seen_us))
            lane_start += (
                estimate_us if lane_weight == 1.0 else round(estimate_us / lane_weight)
            )
            queue_start += (
                estimate_us if queue_weight == 1.0 else round(estimate_us / queue_weight)
            )
            served += 1
            if lane_start >= lane_rival or queue_start >= queue_rival:
                break
        ledger.dispatched(lane, served, lane_start, queue_start, root_tag)
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


def _start_of(queue: Queue) -> int:
    return queue.start
