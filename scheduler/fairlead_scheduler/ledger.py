"""The books of one (pool, band): who was charged how much, and which rows wait.

Unknown ids are ignored everywhere, so an event that is told twice changes nothing.
"""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from fairlead_scheduler.books import UNCLAIMED, Flight, Lane, Queue
from fairlead_scheduler.estimate import Mean
from fairlead_scheduler.lanes import LaneHeads
from fairlead_scheduler.order import NEVER, Level
from fairlead_scheduler.values import FairSettings, QueueRow, Weights


class Ledger:
    """Lanes, queues and flights, and every event that moves a tag."""

    def __init__(
        self, settings: FairSettings, weights: Weights, flights: dict[int, Flight]
    ) -> None:
        self.settings = settings
        self.weights = weights
        self.root: Level[Queue] = Level()
        self.queues: dict[str, Queue] = {}
        self.flights = flights
        self.unclaimed = 0
        self.mean = Mean()
        self.floor = 0
        self.last_root_tag = 0
        """The largest root tag of a row since the last time that none was unclaimed."""
        self.plans = 1
        self.dirty: list[Lane] = []
        """Lanes whose tags or estimates have moved since the last plan."""
        self._fronts: list[tuple[int, int, Flight]] = []
        """Root tags of each queue's first unclaimed row, and of rows that came back."""
        self._turn = 0

    def dispatched(
        self, lane: Lane, count: int, lane_start: int, queue_start: int, root_tag: int
    ) -> None:
        """Count rows of a lane that a plan dispatches, the last of them with this root tag."""
        queue = lane.queue
        lane.in_flight += count
        queue.in_flight += count
        self.unclaimed += count
        lane.start = lane_start
        queue.start = queue_start
        queue.lanes.top = max(queue.lanes.top, lane_start)
        self.root.top = max(self.root.top, queue_start)
        self.last_root_tag = max(self.last_root_tag, root_tag)

    def lane(self, queue: str, tenant: str) -> Lane:
        """Return a tenant's lane, made when it is not known."""
        node = self.queues.get(queue)
        if node is None:
            node = Queue(queue, self.root.virtual, self.weights.get((queue, None), 1.0))
            self.queues[queue] = node
        lane = node.tenants.get(tenant)
        if lane is None:
            lane = Lane(node, tenant, self.weights.get((queue, tenant), 1.0))
            node.tenants[tenant] = lane
        return lane

    def wake(self, lane: Lane) -> None:
        """Let a lane wait for service: its tag is V at least, so idleness earns no credit."""
        queue = lane.queue
        if queue.settled_in != self.plans:
            queue.settled_in = self.plans
            queue.lanes.advance(queue.oldest())
        lane.start = max(lane.start, queue.lanes.virtual)
        lane.estimate(self.settings)
        lane.active = True
        queue.lanes.join(lane)
        if not queue.active:
            queue.start = max(queue.start, self.root.virtual)
            queue.active = True
            self.root.join(queue)

    def rest(self, lane: Lane) -> None:
        """Let a lane wait no longer: it has nothing, or is paused."""
        queue = lane.queue
        lane.active = False
        queue.lanes.leave(lane)
        if not queue.lanes.active:
            queue.active = False
            self.root.leave(queue)

    def settle(self) -> None:
        """Begin a plan: find the floor, and let moved tags take their places."""
        self.plans += 1
        lowest = self.lowest_tag()
        if lowest != NEVER:
            self.floor = lowest
        if not self.unclaimed:
            self.last_root_tag = 0
        moved = self.dirty
        self.dirty = []
        queues: dict[Queue, None] = {}
        for lane in moved:
            lane.dirty = False
            queue = lane.queue
            queues[queue] = None
            if lane.entry is not None:
                lane.estimate(self.settings)
                queue.lanes.put(lane)
        for queue in queues:
            if queue.entry is not None:
                self.root.put(queue)
        self.root.advance(lowest)

    def lowest_tag(self) -> int:
        """Return the smallest root tag of an unclaimed row, or `NEVER`."""
        fronts = self._fronts
        while fronts:
            flight = fronts[0][2]
            if flight.queued:
                return fronts[0][0]
            heappop(fronts)
            queue = flight.lane.queue
            if queue.listed is flight:
                front = queue.front()
                queue.listed = None
                if front is not None:
                    self.show(front[1])
        return NEVER

    def show(self, flight: Flight) -> None:
        """Let a row stand for its queue where the floor is sought: it is the first there."""
        flight.lane.queue.listed = flight
        self.stand(flight)

    def stand(self, flight: Flight) -> None:
        """Let the floor heed a row."""
        self._turn += 1
        heappush(self._fronts, (flight.root_tag, self._turn, flight))

    def claim(self, ids: Iterable[int], at_us: int) -> None:
        """Note that workers took these rows."""
        get = self.flights.get
        for job_id in ids:
            flight = get(job_id)
            if flight is not None and flight.queued:
                flight.queued = False
                flight.claimed_us = at_us
                self.unclaimed -= 1

    def end(self, ids: Sequence[int], run_us: Sequence[int]) -> None:
        """Close flights, charging what they ran instead of what was expected."""
        pop = self.flights.pop
        window = self.settings.window
        mean = self.mean
        for job_id, run in zip(ids, run_us, strict=True):
            flight = pop(job_id, None)
            if flight is None:
                continue
            lane = flight.lane
            if run > 0:
                lane.mean.add(run, window)
                lane.queue.mean.add(run, window)
                mean.add(run, window)
            self._close(flight, lane)
            self.charge(lane, max(run, 0) - flight.charged_us)

    def withdraw(self, job_id: int) -> Flight | None:
        """Close a flight as if it had never been, refunding its charge."""
        flight = self.flights.pop(job_id, None)
        if flight is not None:
            self._close(flight, flight.lane)
            self.charge(flight.lane, -flight.charged_us)
        return flight

    def give_back(self, ids: Iterable[int], at_us: int) -> None:
        """Note that claimed rows wait again, to be charged a second time."""
        for job_id in ids:
            flight = self.flights.get(job_id)
            if flight is None or flight.queued:
                continue
            lane = flight.lane
            ran_us = max(0, at_us - flight.claimed_us)
            expected_us = lane.estimate_us
            self.charge(lane, ran_us - flight.charged_us + expected_us)
            again = Flight(lane, flight.head, flight.rank, flight.root_tag, expected_us)
            self.flights[job_id] = again
            self.unclaimed += 1
            self.stand(again)

    def refresh(self, now_us: int) -> None:
        """Charge running jobs for what they have run beyond their charge."""
        for flight in self.flights.values():
            if flight.claimed_us != UNCLAIMED:
                over_us = now_us - flight.claimed_us - flight.charged_us
                if over_us > 0:
                    flight.charged_us += over_us
                    self.charge(flight.lane, over_us)

    def charge(self, lane: Lane, cost_us: int) -> None:
        """Charge a lane and its queue, or refund them when the cost is negative."""
        queue = lane.queue
        queue.lanes.charge(lane, cost_us)
        self.root.charge(queue, cost_us)
        if not lane.dirty:
            lane.dirty = True
            self.dirty.append(lane)

    def drop(self, job_id: int) -> None:
        """Close a flight that is gone, nobody knows how: its charge stands."""
        flight = self.flights.pop(job_id, None)
        if flight is not None:
            self._close(flight, flight.lane)

    def enter(self, row: QueueRow, now_us: int) -> Flight:
        """Open a flight for a row that somebody else dispatched."""
        lane = self.lane(row.queue, row.tenant)
        flight = Flight(lane, None, 0, row.vtag, row.estimate_us)
        self.flights[row.job_id] = flight
        lane.in_flight += 1
        lane.queue.in_flight += 1
        if row.claimed_us is None:
            self.unclaimed += 1
            self.last_root_tag = max(self.last_root_tag, row.vtag)
        else:
            flight.queued = False
            flight.claimed_us = row.claimed_us
            flight.charged_us = max(row.estimate_us, now_us - row.claimed_us)
        return flight

    def forget(self) -> list[LaneHeads]:
        """Drop lanes without work or debt when there are too many; returns their heads."""
        limit = self.settings.idle_lanes_max
        idle = sum(len(q.tenants) - q.lanes.active for q in self.queues.values()) - limit
        gone: list[LaneHeads] = []
        for queue in tuple(self.queues.values()):
            if idle <= len(gone):
                break
            virtual = queue.lanes.advance(queue.oldest())
            lanes = [lane for lane in queue.tenants.values() if _forgettable(lane, virtual)]
            for lane in lanes[: idle - len(gone)]:
                del queue.tenants[lane.tenant]
                gone.append(lane.heads)
            if not queue.tenants and queue.front() is None:
                del self.queues[queue.name]
        return gone

    def _close(self, flight: Flight, lane: Lane) -> None:
        lane.in_flight -= 1
        lane.queue.in_flight -= 1
        if flight.queued:
            flight.queued = False
            self.unclaimed -= 1


def _forgettable(lane: Lane, virtual: int) -> bool:
    return not lane.active and not lane.in_flight and not lane.dirty and lane.start <= virtual
