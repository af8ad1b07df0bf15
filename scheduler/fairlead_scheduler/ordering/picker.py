"""Filling one plan: which job is next, and what tag its row gets."""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush, heapreplace
from math import ceil

from fairlead_scheduler.limits.concurrency_keys import ConcurrencyKeys
from fairlead_scheduler.limits.limiter import Limiter
from fairlead_scheduler.ordering.blocked import Member
from fairlead_scheduler.ordering.head_selection import AHEAD, HeadSelections, take_out
from fairlead_scheduler.ordering.job_rules import may_block_jobs
from fairlead_scheduler.ordering.lanes import InFlightJob, Lane, Queue
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.level import NEVER
from fairlead_scheduler.ordering.plan import PlannedRow
from fairlead_scheduler.ordering.virtual_time import (
    INDEX_BITS,
    INDEX_MASK,
    OUT,
    tag_increment,
)
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.policy.gcra import WindowUsage


class Picker:
    """The jobs of one plan, as they are picked."""

    __slots__ = (
        "_heads",
        "_lag_us",
        "_ledger",
        "_prior_samples",
        "_quota",
        "_selections",
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
        """Slot-microseconds of one turn; a longer job makes a turn of its own."""
        self._prior_samples = settings.prior_samples
        self.jobs: list[PlannedRow] = []
        self.doubtful: list[int] = []
        self._selections = HeadSelections(ledger, heads, self.doubtful)
        self.metered: dict[Member, None] = {}
        """Members whose rates have been used."""
        if ledger.root.active:
            ledger.root.limit(self._quota, lag_us)

    def reserve(self, room: int) -> None:
        """Pick up to `room` jobs of members that have less in flight than their reserves.

        The member with the smallest part of its reserve goes first. Their rows go before all
        others, since a reserve behind queued rows would be none; their charges are the same.
        """
        ledger = self._ledger
        first_tag = max(0, min(ledger.claim_floor.lowest_tag() - 1, ledger.root.virtual))
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
            in_flight, reserve = self._ledger.reserve_use(member)
            if in_flight < reserve:
                heappush(turns, (in_flight / reserve, place, member))

    def _serve_reserved(self, member: Member, first_tag: int) -> bool:
        """Pick one job of a lane or a queue, tagged before all; whether there was one."""
        ledger = self._ledger
        lane = member if isinstance(member, Lane) else member.lanes.first()
        if lane is None or lane.key == OUT or not lane.heads.ready:
            return False
        queue = lane.queue
        if not queue.active or ledger.block_if_full(queue) or ledger.block_if_full(lane):
            self._reenter(queue)
            return False
        if ledger.deactivate_unless_aged(lane):
            self._reenter(queue)
            return False
        self._set_lane_caps(queue)
        before = len(self.jobs)
        self._turn_first(lane, first_tag)
        served = len(self.jobs) - before
        self._count(queue, served)
        heads = lane.heads
        if len(heads.ready) <= heads.refill_at:
            self._heads.ran_low(heads)
        lane.key = OUT
        if lane.active and heads.stream is None:
            ledger.deactivate(lane)
        elif lane.active and heads.ready and not ledger.block_if_full(lane):
            queue.lanes.put(lane)
        self._reenter(queue)
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
        ledger.short_reserve.moved(lane)
        for job_id, root_tag, cost_us, seen_us in self.jobs[before:]:
            if root_tag > first_tag:
                job = ledger.in_flight_jobs[job_id]
                job.root_tag = first_tag
                self.jobs[before] = (job_id, first_tag, cost_us, seen_us)
                ledger.claim_floor.add(job)

    def used(self) -> Iterator[WindowUsage]:
        """Yield what is used of the rates of members whose jobs were picked."""
        for member in self.metered:
            if member.bounds is None:
                continue
            if isinstance(member, Queue):
                yield from member.bounds.usage(member.name, None)
            else:
                yield from member.bounds.usage(member.queue.name, member.tenant)

    def fill(self, room: int) -> None:
        """Pick up to `room` jobs: of the queue with the smallest tag the lane with it.

        No more than take all slots for a moment, in all: where short jobs make the work queue
        deep, long ones do not fill it.
        """
        ledger = self._ledger
        root = ledger.root
        rows_least, work_us = ledger.context.may_queue(ledger)
        rows_least, work_us = rows_least + ledger.unclaimed, work_us + ledger.unclaimed_us
        while room > 0:
            heap = root.heap()
            least, queue_us = rows_least - ledger.unclaimed, work_us - ledger.unclaimed_us
            if not heap or (least <= 0 and queue_us <= 0):
                return
            queue = root.members[heap[0] & INDEX_MASK]
            limit = room if queue_us > 0 else min(room, least)
            if heap is root.ready:
                limit = min(limit, ceil(root.cap * queue.weight) - queue.in_flight)
            rival = max(root.rival(), queue.start + self._turn_us)
            if queue_us > 0:
                rival = min(rival, queue.start + tag_increment(queue_us, queue.weight) + 1)
            room -= self._serve(queue, limit, rival, NEVER)
            heappop(heap)
            self._reenter(queue)

    def overtake(self, queues: Iterable[Queue], room: int) -> None:
        """Pick up to `room` jobs of these queues that go before some queued ones."""
        for queue in sorted(queues, key=_start_of):
            served = 1
            while room > 0 and served:
                served = self._overtake_in(queue, room) or self._overtake_others(queue, room)
                room -= served
                self._reenter(queue)

    def _overtake_in(self, queue: Queue, room: int) -> int:
        """Pick jobs whose tenants' tags are below that of the queue's last row."""
        first = queue.lanes.first()
        if queue.blocked_by or first is None or queue.drop_claimed() is None:
            return 0
        if first.start >= queue.tags[-1]:
            return 0
        return self._serve(queue, room, NEVER, queue.tags[-1])

    def _overtake_others(self, queue: Queue, room: int) -> int:
        """Pick jobs of a queue whose turn is before that of a queue that has rows."""
        root, last_tag = self._ledger.root, self._ledger.last_root_tag
        own_tag = queue.start if queue.drop_claimed() is None else queue.rows[-1].root_tag
        if root.first() is not queue or max(queue.start, own_tag) >= last_tag:
            return 0
        return self._serve(
            queue, room, min(last_tag, max(root.rival(), queue.start + self._turn_us)), NEVER
        )

    def _reenter(self, queue: Queue) -> None:
        """Enter a queue by its new tag, if it has anything more to offer."""
        queue.key = OUT
        if queue.active and queue.lanes.first() is not None:
            self._ledger.root.put(queue)

    def _serve(self, queue: Queue, limit: int, rival: int, bar: int) -> int:
        """Pick up to `limit` jobs of a queue until its tag reaches `rival`; returns how many.

        Only lanes whose tags are below `bar` are served.
        """
        ledger, bounds = self._ledger, queue.bounds
        if bounds is not None:
            if ledger.block_if_full(queue):
                return 0
            limit = min(limit, bounds.room(ledger.now_us))
        self._set_lane_caps(queue)
        before = len(self.jobs)
        self._take(queue, before + limit, rival, bar)
        return self._count(queue, len(self.jobs) - before)

    def _set_lane_caps(self, queue: Queue) -> None:
        """Cap the lanes of a queue at their shares of its share of the slots."""
        queue.lanes.limit(self._quota * queue.weight / self._ledger.root.weight, self._lag_us)
        queue.drop_claimed()

    def _count(self, queue: Queue, jobs: int) -> int:
        """Count so many jobs of a queue as picked; returns how many."""
        if jobs:
            ledger, bounds = self._ledger, queue.bounds
            queue.in_flight += jobs
            ledger.unclaimed += jobs
            ledger.last_root_tag = max(ledger.last_root_tag, queue.rows[-1].root_tag)
            if bounds is not None:
                self._spend(queue, bounds, jobs)
                ledger.block_if_full(queue)
        return jobs

    def _take(self, queue: Queue, jobs_max: int, rival: int, bar: int) -> None:
        """Give lanes their turns until there are so many jobs, or the queue's turn is over."""
        lanes, ledger, keys = queue.lanes, self._ledger, queue.keys
        free = ledger.long_jobs is None and ledger.aging is None
        selections = self._selections
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
            if keys is not None and may_block_jobs(lane, keys):
                chosen = keys
            # Far from its limit a lane costs what it costs without.
            plain = bounds is None or bounds.has_room_for(
                min(jobs_max - len(self.jobs), len(lane.heads.ready))
            )
            if plain and free and chosen is None:
                self._turn(lane, jobs_max, rival)
            elif not self._careful_turn(lane, jobs_max, rival):
                heappop(heap)
                continue
            heads = lane.heads
            if len(heads.ready) <= heads.refill_at and self._ran_low(lane, heap):
                continue
            barred = not plain and ledger.block_if_full(lane)
            if barred or (chosen and selections.take_out_if_stuck(lane, chosen)):
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
        if keys is not None and may_block_jobs(lane, keys):
            return self._choosing_turn(lane, keys, jobs_max, rival)
        if self._ledger.deactivate_unless_aged(lane) or self._ledger.block_if_reserved(lane):
            return False
        self._guarded_turn(lane, jobs_max, rival)
        return True

    def _choosing_turn(
        self, lane: Lane, keys: ConcurrencyKeys[Lane], jobs_max: int, rival: int
    ) -> bool:
        """Take the first job of a lane that is not blocked; whether it stays in its heap."""
        selection, before = self._selections.of(lane, keys), len(self.jobs)
        if self._selections.take_out_if_stuck(lane, keys):
            return False
        stream = selection.move_to_front()
        lane.heads.use_stream(stream)
        if lane.aged is not None and not self._ledger.count_aged(lane):
            selection.put_back()
            lane.heads.choose_stream()
            return self._selections.wait_aged(lane, keys, selection)
        stays = not self._ledger.block_if_reserved(lane)
        if stays:
            self._guarded_turn(lane, min(jobs_max, before + 1), rival)
        if len(self.jobs) > before:
            keys.add_in_flight(self.jobs[before][0])
        else:
            selection.put_back()
        if len(stream.ready) <= stream.refill_at:
            self._heads.ran_low(lane.heads)
        ready = stream.ready
        if ready and ready[min(len(ready), AHEAD) - 1][0] not in keys.heads:
            self._ledger.key_state.unread[lane] = None
        lane.heads.choose_stream()
        return stays

    def _guarded_turn(self, lane: Lane, jobs_max: int, rival: int) -> None:
        """Take no more jobs of a lane than its bounds and the reserve for short jobs allow."""
        before, bounds, long_jobs = len(self.jobs), lane.bounds, self._ledger.long_jobs
        if bounds is not None:
            room = bounds.room(self._ledger.now_us)
            jobs_max = min(jobs_max, before + max(0, room))
        if lane.aged is not None:
            jobs_max = min(jobs_max, before + self._ledger.count_aged(lane))
        is_long = self._ledger.is_long(lane)
        if long_jobs is not None and lane.heads.ready:
            jobs_max = min(jobs_max, before + long_jobs.stretch(lane, is_long=is_long))
        self._turn(lane, jobs_max, rival)
        if bounds is not None:
            self._spend(lane, bounds, len(self.jobs) - before)
        if long_jobs is not None and is_long:
            long_jobs.ids.update([job[0] for job in self.jobs[before:]])

    def _spend(self, member: Member, bounds: Limiter, jobs: int) -> None:
        if bounds.rates and jobs:
            bounds.spend(jobs, self._ledger.now_us)
            self.metered[member] = None

    def _turn(self, lane: Lane, jobs_max: int, rival: int) -> None:
        """Take one job of a lane, or several that are so short that they make one turn.

        They share a tag, because to other lanes they are one job. The hot loop: locals only.
        """
        queue, heads, ledger = lane.queue, lane.heads, self._ledger
        jobs, in_flight, before = self.jobs, ledger.in_flight_jobs, len(self.jobs)
        ready, rank, rows, tags = heads.ready, heads.rank, queue.rows, queue.tags
        weight, queue_start = lane.weight, queue.start
        usual_us, cost_us, step = lane.expected_us, NEVER, 0
        queue_step = tag_increment(usual_us, queue.weight)
        tag = start = lane.start
        debts = queue.lanes.time.begin_turn(lane), ledger.root.time.begin_turn(queue)
        end, least = tag + self._turn_us, 0
        follows = len(tags) > queue.first and tag >= tags[-1]
        if follows:
            behind, scale = tag - tags[-1], queue.scale
            least = rows[-1].root_tag + (behind if scale == 1.0 else int(behind * scale))
        while start < end and queue_start < rival and len(jobs) < jobs_max and ready:
            head = ready.popleft()
            job_id, _, hint_us, seen_us = head
            if job_id in in_flight:
                self.doubtful.append(job_id)
                continue
            expected_us = usual_us
            if hint_us is not None:
                expected_us = lane.mean.shrunk_us(
                    min(hint_us, lane.hint_max_us), self._prior_samples
                )
            if expected_us != cost_us:
                cost_us = expected_us
                step = tag_increment(cost_us, weight)
            if follows:
                least = max(least, queue_start)
                job = InFlightJob(lane, head, rank, least, cost_us, usual_us)
                in_flight[job_id] = job
                rows.append(job)
                tags.append(tag)
            else:
                job = InFlightJob(lane, head, rank, queue_start, cost_us, usual_us)
                in_flight[job_id] = job
                if queue.place(tag, job, ledger.floor):
                    ledger.claim_floor.represent(job)
                least, follows = job.root_tag, tags[-1] == tag
            jobs.append((job_id, least, cost_us, seen_us))
            start += step
            queue_start += queue_step
        lane.start, queue.start = start + debts[0], queue_start + debts[1]
        lane.in_flight += len(jobs) - before
        ledger.unclaimed_us += (len(jobs) - before) * usual_us

    def _ran_low(self, lane: Lane, heap: list[int]) -> bool:
        """Report it to the heads; a lane without heads, on top of the heap, leaves it.

        Returns whether it left.
        """
        heads = lane.heads
        self._heads.ran_low(heads)
        if heads.ready:
            return False
        heappop(heap)
        take_out(self._ledger, lane)
        return True


def _start_of(queue: Queue) -> int:
    return queue.start
