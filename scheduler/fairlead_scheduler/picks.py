"""Filling one plan: whose job is next, and where its row goes."""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush, heapreplace
from math import ceil

from fairlead_scheduler.books import Flight, Lane, Queue
from fairlead_scheduler.bounds import Bounds
from fairlead_scheduler.choices import AHEAD, Choices, run_out
from fairlead_scheduler.holds import Member
from fairlead_scheduler.keys import Keys
from fairlead_scheduler.lanes import Heads
from fairlead_scheduler.ledger import Ledger
from fairlead_scheduler.order import INDEX_BITS, INDEX_MASK, NEVER, OUT, moves
from fairlead_scheduler.rates import Used
from fairlead_scheduler.values import PlannedRow
from fairlead_scheduler.verdicts import chooses


class Picks:
    """The jobs of one plan, as they are picked."""

    __slots__ = (
        "_choices",
        "_heads",
        "_lag_us",
        "_ledger",
        "_prior_samples",
        "_quota",
        "_turn_us",
        "doubtful",
        "jobs",
        "metered",
    )

    def __init__(self, ledger: Ledger, heads: Heads, *, slots: int, lag_us: int) -> None:
        settings = ledger.settings
        self._ledger = ledger
        self._heads = heads
        self._quota = settings.inflight_share_cap * slots
        """In-flight jobs that the members of a level share before they stand back."""
        self._lag_us = lag_us
        self._turn_us = max(1, slots * settings.turn_us)
        """Slot-microseconds of one turn; a job that is longer makes a turn."""
        self._prior_samples = settings.prior_samples
        self.jobs: list[PlannedRow] = []
        self.doubtful: list[int] = []
        self._choices = Choices(ledger, heads, self.doubtful)
        self.metered: dict[Member, None] = {}
        """Whose rates have been used."""
        if ledger.root.active:
            ledger.root.limit(self._quota, lag_us)

    def reserve(self, room: int) -> None:
        """Pick up to `room` jobs of those who have less in flight than their reserves.

        Who has the smallest part of its reserve goes first. Their rows go before all others,
        for behind what is queued a reserve would be none; their charges are the same.
        """
        ledger = self._ledger
        first_tag = max(0, min(ledger.fronts.lowest_tag() - 1, ledger.root.virtual))
        turns: list[tuple[float, int, Member]] = []
        for place, member in enumerate(ledger.reserving):
            self._take_turn(turns, place, member)
        while turns and room > 0:
            _, place, member = heappop(turns)
            if self._serve_reserved(member, first_tag):
                room -= 1
                self._take_turn(turns, place, member)

    def _take_turn(
        self, turns: list[tuple[float, int, Member]], place: int, member: Member
    ) -> None:
        """Enter a member among those whose reserve is not reached."""
        if member.active:
            in_flight, reserve = self._ledger.lacks(member)
            if in_flight < reserve:
                heappush(turns, (in_flight / reserve, place, member))

    def _serve_reserved(self, member: Member, first_tag: int) -> bool:
        """Pick one job of a lane or a queue, with a tag before all; whether there was one."""
        ledger = self._ledger
        lane = member if isinstance(member, Lane) else member.lanes.first()
        if lane is None or lane.key == OUT or not lane.heads.ready:
            return False
        queue = lane.queue
        if not queue.active or ledger.bar(queue) or ledger.bar(lane):
            self._again(queue)
            return False
        if ledger.leaves(lane):
            self._again(queue)
            return False
        self._share(queue)
        before = len(self.jobs)
        self._turn_first(lane, first_tag)
        served = len(self.jobs) - before
        self._served(queue, served)
        heads = lane.heads
        if len(heads.ready) <= heads.refill_at:
            self._heads.ran_low(heads)
        lane.key = OUT
        if lane.active and heads.front is None:
            ledger.rest(lane)
        elif lane.active and heads.ready and not ledger.bar(lane):
            queue.lanes.put(lane)
        self._again(queue)
        return served > 0

    def _turn_first(self, lane: Lane, first_tag: int) -> None:
        """Take one job of a lane whose row goes first, whatever the tags of lane and queue."""
        ledger, queue, before = self._ledger, lane.queue, len(self.jobs)
        ahead = max(0, lane.start - ledger.virtual_in(queue))
        queue_ahead = max(0, queue.start - first_tag)
        lane.start -= ahead
        queue.start -= queue_ahead
        self._careful_turn(lane, before + 1, NEVER)
        lane.start += ahead
        queue.start += queue_ahead
        ledger.parked.moved(lane)
        for job_id, root_tag, cost_us, seen_us in self.jobs[before:]:
            if root_tag > first_tag:
                flight = ledger.flights[job_id]
                flight.root_tag = first_tag
                self.jobs[before] = (job_id, first_tag, cost_us, seen_us)
                ledger.fronts.stand(flight)

    def used(self) -> Iterator[Used]:
        """Yield what is used of the rates of those whose jobs were picked."""
        for member in self.metered:
            if member.bounds is None:
                continue
            if isinstance(member, Queue):
                yield from member.bounds.used(member.name, None)
            else:
                yield from member.bounds.used(member.queue.name, member.tenant)

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
            rival = max(root.rival(), queue.start + self._turn_us)
            room -= self._serve(queue, limit, rival, NEVER)
            heappop(heap)
            self._again(queue)

    def overtake(self, queues: Iterable[Queue], room: int) -> None:
        """Pick up to `room` jobs of these queues that go before some that wait already."""
        for queue in sorted(queues, key=_start_of):
            served = 1
            while room > 0 and served:
                served = self._overtake_in(queue, room) or self._overtake_others(queue, room)
                room -= served
                self._again(queue)

    def _overtake_in(self, queue: Queue, room: int) -> int:
        """Pick jobs whose tenants' tags are below that of the queue's last row."""
        first = queue.lanes.first()
        if queue.held or first is None or queue.front() is None:
            return 0
        if first.start >= queue.tags[-1]:
            return 0
        return self._serve(queue, room, NEVER, queue.tags[-1])

    def _overtake_others(self, queue: Queue, room: int) -> int:
        """Pick jobs of a queue whose turn it is before those of a queue that has rows."""
        root, last_tag = self._ledger.root, self._ledger.last_root_tag
        own_tag = queue.start if queue.front() is None else queue.rows[-1].root_tag
        if root.first() is not queue or max(queue.start, own_tag) >= last_tag:
            return 0
        return self._serve(
            queue, room, min(last_tag, max(root.rival(), queue.start + self._turn_us)), NEVER
        )

    def _again(self, queue: Queue) -> None:
        """Enter a queue by its new tag, if it has anything more to offer."""
        queue.key = OUT
        if queue.active and queue.lanes.first() is not None:
            self._ledger.root.put(queue)

    def _serve(self, queue: Queue, limit: int, rival: int, bar: int) -> int:
        """Pick up to `limit` jobs of a queue, until its tag reaches `rival`; say how many.

        Only lanes whose tags are below the `bar` are served.
        """
        ledger, bounds = self._ledger, queue.bounds
        if bounds is not None:
            if ledger.bar(queue):
                return 0
            limit = min(limit, bounds.room(ledger.now_us))
        self._share(queue)
        before = len(self.jobs)
        self._take(queue, before + limit, rival, bar)
        return self._served(queue, len(self.jobs) - before)

    def _share(self, queue: Queue) -> None:
        """Let the lanes of a queue stand back from their share of its share of the slots on."""
        queue.lanes.limit(self._quota * queue.weight / self._ledger.root.weight, self._lag_us)
        queue.front()

    def _served(self, queue: Queue, jobs: int) -> int:
        """Count so many jobs of a queue as picked; returns how many."""
        if jobs:
            ledger, bounds = self._ledger, queue.bounds
            queue.in_flight += jobs
            ledger.unclaimed += jobs
            ledger.last_root_tag = max(ledger.last_root_tag, queue.rows[-1].root_tag)
            if bounds is not None:
                self._spend(queue, bounds, jobs)
                ledger.bar(queue)
        return jobs

    def _take(self, queue: Queue, jobs_max: int, rival: int, bar: int) -> None:
        """Give lanes their turns until there are so many jobs, or the queue's turn is over."""
        lanes, ledger, keys = queue.lanes, self._ledger, queue.keys
        free = ledger.longs is None and ledger.aging is None
        choices = self._choices
        ready, capped, cap, setback = lanes.ready, lanes.capped, lanes.cap, lanes.setback
        while (ready or capped) and len(self.jobs) < jobs_max and queue.start < rival:
            behind = not ready or (capped and capped[0] + setback < ready[0])
            heap = capped if behind else ready
            lane = lanes.members[heap[0] & INDEX_MASK]
            if lane.key != heap[0]:
                heappop(heap)
                continue
            if lane.start >= bar:
                return
            bounds, chosen = lane.bounds, None
            if keys is not None and chooses(lane, keys):
                chosen = keys
            # Far from its limit a lane costs what it costs without.
            plain = bounds is None or bounds.spares(
                min(jobs_max - len(self.jobs), len(lane.heads.ready))
            )
            if plain and free and chosen is None:
                self._turn(lane, jobs_max, rival)
            elif not self._careful_turn(lane, jobs_max, rival):
                heappop(heap)
                continue
            heads = lane.heads
            if len(heads.ready) <= heads.refill_at and self._low(lane, heap):
                continue
            barred = not plain and ledger.bar(lane)
            if barred or (chosen and choices.stuck(lane, chosen)):
                heappop(heap)
                continue
            # As `Level.put` makes it, with one heap operation instead of two in the hot loop.
            key = lane.key = (lane.start << 1 | 1) << INDEX_BITS | lane.index
            if behind or lane.in_flight < cap * lane.weight:
                heapreplace(heap, key)
            else:
                heappop(heap)
                heappush(capped, key)

    def _careful_turn(self, lane: Lane, jobs_max: int, rival: int) -> bool:
        """Take what bounds, reserve and keys allow; whether the lane stays in its heap."""
        keys = lane.queue.keys
        if keys is not None and chooses(lane, keys):
            return self._choosing_turn(lane, keys, jobs_max, rival)
        if self._ledger.leaves(lane) or self._ledger.is_parked(lane):
            return False
        self._guarded_turn(lane, jobs_max, rival)
        return True

    def _choosing_turn(self, lane: Lane, keys: Keys[Lane], jobs_max: int, rival: int) -> bool:
        """Take the first job of a lane that nothing holds; whether it stays in its heap."""
        choice, before = self._choices.of(lane, keys), len(self.jobs)
        if self._choices.stuck(lane, keys):
            return False
        stream = choice.bring()
        lane.heads.show(stream)
        if lane.aged is not None and not self._ledger.aged(lane):
            choice.put_back()
            lane.heads.find_front()
            return self._choices.wait_aged(lane, keys, choice)
        stays = not self._ledger.is_parked(lane)
        if stays:
            self._guarded_turn(lane, min(jobs_max, before + 1), rival)
        if len(self.jobs) > before:
            keys.go(self.jobs[before][0])
        else:
            choice.put_back()
        if len(stream.ready) <= stream.refill_at:
            self._heads.ran_low(lane.heads)
        ready = stream.ready
        if ready and ready[min(len(ready), AHEAD) - 1][0] not in keys.heads:
            self._ledger.keyed.unread[lane] = None
        lane.heads.find_front()
        return stays

    def _guarded_turn(self, lane: Lane, jobs_max: int, rival: int) -> None:
        """Take no more jobs of a lane than its bounds and the reserve for short jobs allow."""
        before, bounds, longs = len(self.jobs), lane.bounds, self._ledger.longs
        if bounds is not None:
            room = bounds.room(self._ledger.now_us)
            jobs_max = min(jobs_max, before + max(0, room))
        if lane.aged is not None:
            jobs_max = min(jobs_max, before + self._ledger.aged(lane))
        is_long = self._ledger.is_long(lane)
        if longs is not None and lane.heads.ready:
            jobs_max = min(jobs_max, before + longs.stretch(lane, is_long=is_long))
        self._turn(lane, jobs_max, rival)
        if bounds is not None:
            self._spend(lane, bounds, len(self.jobs) - before)
        if longs is not None and is_long:
            longs.ids.update([job[0] for job in self.jobs[before:]])

    def _spend(self, member: Member, bounds: Bounds, jobs: int) -> None:
        if bounds.rates and jobs:
            bounds.spend(jobs, self._ledger.now_us)
            self.metered[member] = None

    def _turn(self, lane: Lane, jobs_max: int, rival: int) -> None:
        """Take one job of a lane, or several that are so short that they make one turn.

        They share a tag, for to the others they are one job. The hot loop: locals only.
        """
        jobs, flights, queue, heads = self.jobs, self._ledger.flights, lane.queue, lane.heads
        ready, rank, rows, tags = heads.ready, heads.rank, queue.rows, queue.tags
        weight, queue_weight, queue_start = lane.weight, queue.weight, queue.start
        usual_us, before = lane.expected_us, len(jobs)
        cost_us, step, queue_step = NEVER, 0, 0
        tag = start = lane.start
        end, least = tag + self._turn_us, 0
        follows = len(tags) > queue.first and tag >= tags[-1]
        if follows:
            behind, scale = tag - tags[-1], queue.scale
            least = rows[-1].root_tag + (behind if scale == 1.0 else int(behind * scale))
        while start < end and queue_start < rival and len(jobs) < jobs_max and ready:
            head = ready.popleft()
            job_id, _, hint_us, seen_us = head
            if job_id in flights:
                self.doubtful.append(job_id)
                continue
            expected_us = usual_us
            if hint_us is not None:
                expected_us = lane.mean.shrunk_us(hint_us, self._prior_samples)
            if expected_us != cost_us:
                cost_us = expected_us
                step, queue_step = moves(cost_us, weight), moves(cost_us, queue_weight)
            if follows:
                least = max(least, queue_start)
                flights[job_id] = flight = Flight(lane, head, rank, least, cost_us)
                rows.append(flight)
                tags.append(tag)
            else:
                flights[job_id] = flight = Flight(lane, head, rank, queue_start, cost_us)
                if queue.place(tag, flight, self._ledger.floor):
                    self._ledger.fronts.show(flight)
                least, follows = flight.root_tag, tags[-1] == tag
            jobs.append((job_id, least, cost_us, seen_us))
            start += step
            queue_start += queue_step
        lane.start, queue.start = start, queue_start
        lane.in_flight += len(jobs) - before

    def _low(self, lane: Lane, heap: list[int]) -> bool:
        """Say so to the heads; when nothing is at hand the lane, on top of the heap, leaves."""
        heads = lane.heads
        self._heads.ran_low(heads)
        if heads.ready:
            return False
        heappop(heap)
        run_out(self._ledger, lane)
        return True


def _start_of(queue: Queue) -> int:
    return queue.start
