"""The books of one (pool, band): who was charged how much, and which rows wait.

An event notes what a lane owes; the next plan settles it. Unknown ids are ignored everywhere,
so an event that is told twice changes nothing.
"""

from collections.abc import Iterable, Iterator, Sequence

from fairlead_scheduler.aging import Aging
from fairlead_scheduler.books import CLOSED, UNCLAIMED, Flight, Lane, Queue
from fairlead_scheduler.bounds import LIMIT, RESERVE, Bounds
from fairlead_scheduler.fronts import Fronts
from fairlead_scheduler.holds import Member
from fairlead_scheduler.keyed import Keyed
from fairlead_scheduler.longs import LongJobs
from fairlead_scheduler.order import NEVER, Level
from fairlead_scheduler.parked import Parked
from fairlead_scheduler.shared import Shared
from fairlead_scheduler.terms import Table
from fairlead_scheduler.values import FairSettings


class Ledger:
    """Lanes, queues and flights, and every event that moves a tag."""

    def __init__(
        self, table: Table, flights: dict[int, Flight], shared: Shared, *, band: int = 0
    ) -> None:
        self.table = table
        self.shared = shared
        self.band = band
        shared.ledgers[band : band + 1] = [self]
        self.now_us = 0
        self.slots = 1
        self.holds = shared.holds
        self.stale: dict[Lane, None] = {}
        """Lanes that are to have their new terms, those that have waited longest first."""
        self.rebound = False
        """Whether any of those that have them by now may have more rows than they allow."""
        self.keyed = Keyed()
        self.ruling = 0
        """The rules that hold, of those that ask nothing of lanes."""
        self.over = bool(table.stored)
        """Whether more rows may wait than limits allow."""
        self.root: Level[Queue] = Level()
        self.parked = Parked(self.root)
        self.queues: dict[str, Queue] = {}
        self.flights = flights
        self.reserving: dict[Member, None] = {}
        """Those that have a reserve."""
        self.longs: LongJobs | None = None
        self.aging: Aging | None = None
        """None where there are no other bands."""
        self.unclaimed = 0
        self.mean = shared.mean
        self.floor = 0
        self.last_root_tag = 0
        """The largest root tag of a row since the last time that none was unclaimed."""
        self._plans = 1
        self._dirty: list[Lane] = []
        self.fronts = Fronts()

    @property
    def settings(self) -> FairSettings:
        """The knobs in force."""
        return self.table.settings

    def members(self) -> Iterator[Member]:
        """Yield every queue and every lane."""
        for queue in self.queues.values():
            yield queue
            yield from queue.every()

    def lane(self, queue: str, tenant: str) -> Lane:
        """Return a tenant's lane, made when it is not known."""
        node = self._queue(queue)
        lane = node.tenants.get(tenant)
        if lane is None:
            lane = node.tenants[tenant] = Lane(node, tenant, node.rule.lane(tenant))
            self._add(lane)
        return lane

    def aged_lane(self, queue: str, tenant: str, band: int) -> Lane:
        """Return the lane of a tenant's jobs that come from another band."""
        node = self._queue(queue)
        lane = node.aged.get((tenant, band))
        if lane is None:
            lane = node.aged[tenant, band] = Lane(node, tenant, node.rule.lane(tenant))
            lane.aged = band
            self._add(lane)
        return lane

    def _queue(self, queue: str) -> Queue:
        node = self.queues.get(queue)
        if node is None:
            rule = self.table.queue(queue)
            node = Queue(queue, self.root.virtual, rule, self.settings, band=self.band)
            node.pool = self.shared.place
            node.foreign = self.shared.is_foreign(queue, self.table.homes)
            if self.table.rules:
                node.begin(self.table.rules, self.ruling)
            node.rescale()
            self.queues[queue] = node
            self.root.add(node)
            self.bind(node, queue, None)
            node.keys = node.made_keys()
            self.shared.share_keys(node)
            if node.keys is not None:
                self.keyed.queues[node] = None
        return node

    def _add(self, lane: Lane) -> None:
        node = lane.queue
        if self.table.rules:
            lane.begin(self.table.rules, self.ruling)
        node.lanes.add(lane)
        node.scale = min(node.scale, lane.weight / node.weight)
        self.bind(lane, node.name, lane.tenant)

    def wake(self, lane: Lane) -> None:
        """Let a lane wait for service: its tag is V at least, so idleness earns no credit."""
        queue = lane.queue
        lanes = queue.lanes
        lane.start = max(lane.start, self.virtual_in(queue))
        lane.active = True
        if lane.resumes:
            lane.resumes = False
        else:
            lane.waits_since_us = self.now_us
        lane.expected_us = lane.mean.shrunk_us(queue.prior_us, self.settings.prior_samples)
        lanes.join(lane)
        if not (queue.active or queue.held):
            self._join(queue)

    def virtual_in(self, queue: Queue) -> int:
        """Return V between the tenants of a queue, brought up to date once in a plan."""
        if queue.settled_in != self._plans:
            queue.settled_in = self._plans
            queue.lanes.advance(queue.oldest())
        return queue.lanes.virtual

    def rest(self, lane: Lane) -> None:
        """Let a lane wait no longer: it has nothing, or is held back."""
        queue = lane.queue
        lane.active = False
        queue.lanes.leave(lane)
        if queue.active and not queue.lanes.active:
            queue.active = False
            self.root.leave(queue)

    def bind(self, member: Member, queue: str, tenant: str | None) -> None:
        """Give a member the bounds and the reserve of its terms."""
        if member.terms.reserve_of(1):
            self.reserving[member] = None
        else:
            self.reserving.pop(member, None)
        self.shared.bind(member, (queue, tenant), slots=self.slots, now_us=self.now_us)

    def bar(self, member: Member) -> bool:
        """Hold a member back if its bounds leave no room; whether they do not."""
        bounds = member.bounds
        if bounds is None or bounds.room(self.now_us) > 0:
            return False
        self.hold(member, bounds.reason)
        return True

    def hold(self, member: Member, reason: int) -> None:
        """Hold a member back: it waits for service no longer."""
        if isinstance(member, Lane) and member.held == RESERVE:
            self.parked.leave(member)
        self.holds.hold(member, reason, self.now_us)
        if isinstance(member, Lane):
            if member.active:
                self.rest(member)
            if reason == RESERVE:
                self.parked.park(member)
        elif member.active:
            member.active = False
            self.root.leave(member)

    def is_long(self, lane: Lane) -> bool:
        """Whether a lane's next job is one of those that leave slots for short ones."""
        return self.longs is not None and bool(lane.heads.ready) and self.longs.is_long(lane)

    def is_parked(self, lane: Lane) -> bool:
        """Hold a lane back if its next job is long and there is no room; whether it is."""
        if self.longs is None or self.longs.room > 0 or not self.is_long(lane):
            return False
        self.hold(lane, RESERVE)
        return True

    def unpark(self) -> list[Lane]:
        """Let lanes go for whose next jobs there is room among the long ones: admit them."""
        found: list[Lane] = []
        if self.longs is not None and self.root.parked and self.longs.room > 0:
            room = self.longs.room
            for queue in self.parked.next_queues(room):
                found += self.parked.next_lanes(queue, room, self.virtual_in(queue))
        for lane in found:
            self.let(lane)
        return found

    def aged(self, lane: Lane) -> int:
        """Return how many of a lane's next jobs may go here that come from another band."""
        aging = self.aging
        return 0 if aging is None else aging.aged(lane.heads, self.band, self.now_us)

    def leaves(self, lane: Lane) -> bool:
        """Let a lane of aged jobs rest whose next one has not aged; whether it does."""
        if lane.aged is None or self.aged(lane) or not lane.heads.ready:
            return False
        self.rest(lane)
        if self.aging is not None:
            self.aging.note(lane.heads)
        return True

    def lacks(self, member: Member) -> tuple[int, int]:
        """Return how many jobs a member has in flight, in all places, and its reserve."""
        in_flight = member.in_flight
        if self.shared.several:
            names = (member.name, None) if isinstance(member, Queue) else member.owner
            in_flight = sum(each.in_flight for each in self.shared.members(*names))
        return in_flight, member.terms.reserve_of(self.slots)

    def let(self, lane: Lane) -> None:
        """Hold a lane back no longer, whatever for: admit it."""
        if lane.held == RESERVE:
            self.parked.leave(lane)
            lane.resumes = True
        self.holds.let(lane, self.now_us)

    def free(self, queue: Queue) -> None:
        """Let a queue wait for service again, if it has lanes that do, and there is room."""
        self.holds.let(queue, self.now_us)
        if queue.lanes.active and not self.bar(queue):
            self._join(queue)
            if queue.lanes.first() is not None:
                self.root.put(queue)

    def _join(self, queue: Queue) -> None:
        queue.start = max(queue.start, self.root.virtual)
        queue.active = True
        queue.waits_since_us = self.now_us
        self.root.join(queue)

    def settle(self) -> None:
        """Begin a plan: find the floor, collect what is owed, bring V up to date."""
        self._plans += 1
        if not self.unclaimed:
            self.last_root_tag = 0
        lowest = self.fronts.lowest_tag()
        if lowest != NEVER:
            self.floor = lowest
        owing, self._dirty = self._dirty, []
        queues = dict.fromkeys([lane.queue for lane in owing])
        self._collect(owing)
        for queue in queues:
            self.mean.add(queue.ran_us, queue.ended, self.settings.window)
            queue.settle(self.settings)
            self.root.move(queue, queue.owed_us)
            queue.owed_us = 0
            if queue.bounds is not None:
                self._ask_again(queue.bounds)
        self.root.advance(lowest)

    def claim(self, ids: Iterable[int], at_us: int) -> None:
        """Note that workers took these rows."""
        get = self.flights.get
        claimed = 0
        for job_id in ids:
            flight = get(job_id)
            if flight is not None and flight.claimed_us == UNCLAIMED:
                flight.claimed_us = at_us
                claimed += 1
        self.unclaimed -= claimed

    def end(self, ids: Sequence[int], run_us: Sequence[int]) -> None:
        """Close flights, charging what they ran instead of what was expected."""
        if self.keyed.queues:
            self.keyed.leave(ids, self.flights)
        pop = self.flights.pop
        unclaimed = 0
        if self.longs is not None:
            self.longs.ids.difference_update(ids)
        for job_id, run in zip(ids, run_us, strict=True):
            flight = pop(job_id, None)
            if flight is None:
                continue
            lane = flight.lane
            if flight.claimed_us == UNCLAIMED:
                unclaimed += 1
            flight.claimed_us = CLOSED
            lane.in_flight -= 1
            lane.queue.in_flight -= 1
            lane.owed_us -= flight.charged_us
            if run > 0:
                lane.owed_us += run
                lane.ran_us += run
                lane.ended += 1
            if not lane.dirty:
                lane.dirty = True
                self._dirty.append(lane)
        self.unclaimed -= unclaimed

    def withdraw(self, job_id: int) -> Flight | None:
        """Close a flight as if it had never been, refunding its charge."""
        return self.close(job_id, refund=True)

    def close(self, job_id: int, *, refund: bool = False) -> Flight | None:
        """Close a flight; its charge stands unless it is refunded."""
        if self.keyed.queues:
            self.keyed.leave((job_id,), self.flights)
        flight = self.flights.pop(job_id, None)
        if flight is not None:
            flight.lane.in_flight -= 1
            flight.lane.queue.in_flight -= 1
            if flight.claimed_us == UNCLAIMED:
                self.unclaimed -= 1
            else:
                flight.lane.served_us += flight.charged_us
            flight.claimed_us = CLOSED
            self.owe(flight.lane, -flight.charged_us if refund else 0)
            if self.longs is not None:
                self.longs.ids.discard(job_id)
        return flight

    def give_back(self, ids: Iterable[int], at_us: int) -> None:
        """Note that claimed rows wait again, to be charged a second time."""
        for job_id in ids:
            flight = self.flights.get(job_id)
            if flight is None or flight.claimed_us == UNCLAIMED:
                continue
            lane = flight.lane
            ran_us = max(0, at_us - flight.claimed_us)
            lane.served_us += ran_us
            self.owe(lane, ran_us - flight.charged_us + lane.expected_us)
            again = Flight(lane, flight.head, flight.rank, flight.root_tag, lane.expected_us)
            self.flights[job_id] = again
            self.unclaimed += 1
            self.fronts.stand(again)
            self.heed_hold(lane)

    def refresh(self, now_us: int) -> None:
        """Charge running jobs for what they have run beyond their charge."""
        longs = self.longs
        longer_us = NEVER if longs is None else longs.longer_us
        for job_id, flight in self.flights.items():
            if flight.claimed_us != UNCLAIMED:
                over_us = now_us - flight.claimed_us - flight.charged_us
                if over_us > 0:
                    flight.charged_us += over_us
                    self.owe(flight.lane, over_us)
                    if longs is not None and flight.charged_us >= longer_us:
                        longs.ids.add(job_id)

    def owe(self, lane: Lane, cost_us: int) -> None:
        """Let the next plan charge a lane and its queue, or refund them."""
        lane.owed_us += cost_us
        if not lane.dirty:
            lane.dirty = True
            self._dirty.append(lane)

    def heed_hold(self, lane: Lane) -> None:
        """Have a row recalled that waits, or waits again, where it may not: see what holds."""
        queue = lane.queue
        held = lane.terms.held_by is not None or queue.terms.held_by is not None
        self.over = self.over or held or queue.foreign or queue.rules.jobs > 0

    def _collect(self, owing: Iterable[Lane]) -> None:
        """Charge what lanes owe, and learn from what has ended in them."""
        window, prior_samples = self.settings.window, self.settings.prior_samples
        for lane in owing:
            queue, owed_us, ended = lane.queue, lane.owed_us, lane.ended
            lane.dirty = False
            if ended:
                mean, ran_us = lane.mean, lane.ran_us
                queue.ran_us += ran_us
                queue.ended += ended
                lane.served_us += ran_us
                mean.add(ran_us, ended, window)
                lane.expected_us = mean.shrunk_us(queue.prior_us, prior_samples)
                lane.ended = lane.ran_us = 0
            queue.owed_us += owed_us
            lane.owed_us = 0
            queue.lanes.move(lane, owed_us)
            bounds = lane.bounds
            if bounds is not None and (lane.held or len(bounds.members) > 1):
                self._ask_again(bounds)
            if lane.held == RESERVE:
                self.parked.moved(lane)
                if ended:
                    self.holds.ask_again(lane)

    def _ask_again(self, bounds: Bounds) -> None:
        """See whether a limit still holds back who has these bounds, in whichever band."""
        for member in bounds.members:
            if isinstance(member, Lane | Queue) and member.held == LIMIT:
                self.holds.ask_again(member)
