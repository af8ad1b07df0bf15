"""Filling one plan: which job is next, and what tag its row gets."""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush, heapreplace
from math import ceil

from fairlead_scheduler.limits.concurrency_keys import ConcurrencyKeys
from fairlead_scheduler.limits.limiter import Limiter
from fairlead_scheduler.ordering.blocked import Member
from fairlead_scheduler.ordering.in_flight import InFlightJob
from fairlead_scheduler.ordering.job_checks.head_selection import (
    AHEAD,
    HeadSelections,
    take_out,
)
from fairlead_scheduler.ordering.job_checks.job_rules import may_block_jobs
from fairlead_scheduler.ordering.lanes import Lane, Queue
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.levels.accounts import Branch
from fairlead_scheduler.ordering.levels.level import NEVER
from fairlead_scheduler.ordering.levels.service import OUT, tag_increment
from fairlead_scheduler.ordering.levels.virtual_time import INDEX_BITS, INDEX_MASK
from fairlead_scheduler.ordering.plan import PlannedRow
from fairlead_scheduler.ordering.reserve.places import LONG, SHORT
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.policy.gcra import WindowUsage


class Picker:
    """The jobs of one plan, as they are picked."""

    __slots__ = (
        "_heads",
        "_hint_end_us",
        "_lag_us",
        "_ledger",
        "_prior_samples",
        "_quota",
        "_selections",
        "_turn_us",
        "doubtful",
        "is_deep_enough",
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
        self._hint_end_us = NEVER if ledger.places is None else ledger.places.longer_us
        """From which hint on a job is long, so that it ends a turn of short ones."""
        self._turn_us = max(1, slots * settings.turn_us)
        """Slot-microseconds of one turn; a longer job makes a turn of its own."""
        self._prior_samples = settings.prior_samples
        self.jobs: list[PlannedRow] = []
        self.doubtful: list[int] = []
        self.is_deep_enough = False
        """Whether more could be dispatched, and what is queued takes all slots for a moment."""
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
        lane: Lane | None = member if isinstance(member, Lane) else None
        if isinstance(member, Queue):
            first = member.branch.accounts.first()
            lane = None if first is None else first.turn
        if lane is None or not lane.offered or not lane.heads.ready:
            return False
        queue, account = lane.queue, lane.account
        branch = account.branch
        if not branch.active or ledger.block_if_full(queue) or ledger.block_if_full(lane):
            self._reenter(branch)
            return False
        if ledger.deactivate_unless_aged(lane):
            self._reenter(branch)
            return False
        self._set_account_caps(branch)
        before = len(self.jobs)
        self._turn_first(lane, first_tag)
        served = len(self.jobs) - before
        self._count(branch, served)
        heads = lane.heads
        if len(heads.ready) <= heads.refill_at:
            self._heads.ran_low(heads)
        if lane.active and (not heads.ready or ledger.block_if_full(lane)):
            take_out(ledger, lane)
        if account.turn is not None:
            branch.accounts.put(account)
        self._reenter(branch)
        return served > 0

    def _turn_first(self, lane: Lane, first_tag: int) -> None:
        """Take one job of a lane whose row goes first, whatever the tags."""
        ledger, account, before = self._ledger, lane.account, len(self.jobs)
        branch = account.branch
        ahead = max(0, account.start - ledger.virtual_in(branch))
        branch_ahead = max(0, branch.start - first_tag)
        account.start -= ahead
        branch.start -= branch_ahead
        self._careful_turn(lane, before + 1, NEVER)
        account.start += ahead
        branch.start += branch_ahead
        ledger.short_reserve.moved(account)
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
        """Pick up to `room` jobs: of the branch with the smallest tag the account with it.

        No more than take all slots for a moment, in all: where short jobs make the work queue
        deep, long ones do not fill it.
        """
        ledger = self._ledger
        root = ledger.root
        rows_least, work_us = ledger.context.may_queue(ledger)
        rows_least, work_us = rows_least + ledger.unclaimed, work_us + ledger.waiting_us
        while room > 0:
            heap = root.heap()
            least, queue_us = rows_least - ledger.unclaimed, work_us - ledger.waiting_us
            if not heap:
                return
            if least <= 0 and queue_us <= 0:
                self.is_deep_enough = True
                return
            branch = root.members[heap[0] & INDEX_MASK]
            limit = room if queue_us > 0 else min(room, least)
            if heap is root.ready:
                limit = min(limit, ceil(root.cap * branch.weight) - branch.in_flight)
            rival = max(root.rival(), branch.start + self._turn_us)
            if queue_us > 0:
                rival = min(rival, branch.start + tag_increment(queue_us, branch.weight) + 1)
            room -= self._serve(branch, limit, rival, NEVER)
            heappop(heap)
            self._reenter(branch)

    def overtake(self, branches: Iterable[Branch], room: int) -> None:
        """Pick up to `room` jobs of these branches that go before some queued ones."""
        for branch in sorted(branches, key=_start_of):
            served = 1
            while room > 0 and served:
                served = self._overtake_in(branch, room) or self._overtake_others(branch, room)
                room -= served
                self._reenter(branch)

    def _overtake_in(self, branch: Branch, room: int) -> int:
        """Pick jobs whose accounts' tags are below that of the branch's last row."""
        first, queue = branch.accounts.first(), branch.queue
        if first is None or branch.drop_claimed() is None:
            return 0
        if (queue is not None and queue.blocked_by) or first.start >= branch.tags[-1]:
            return 0
        others = self._ledger.root.first()
        if others is not None and others is not branch:
            # The row that it overtakes keeps its place before the branch whose turn it is: if
            # others than those that begin might, or more than it has rows, this branch would be
            # served for ever.
            if first.in_flight or branch.start > others.start + branch.queued():
                return 0
            room = 1
        return self._serve(branch, room, NEVER, branch.tags[-1])

    def _overtake_others(self, branch: Branch, room: int) -> int:
        """Pick jobs of a branch whose turn is before that of a branch that has rows."""
        root, last_tag = self._ledger.root, self._ledger.last_root_tag
        own_tag = branch.start if branch.drop_claimed() is None else branch.rows[-1].root_tag
        if root.first() is not branch or max(branch.start, own_tag) >= last_tag:
            return 0
        return self._serve(
            branch, room, min(last_tag, max(root.rival(), branch.start + self._turn_us)), NEVER
        )

    def _reenter(self, branch: Branch) -> None:
        """Enter a branch by its new tag, if it has anything more to offer."""
        branch.key = OUT
        if branch.active and branch.accounts.first() is not None:
            self._ledger.root.put(branch)

    def _serve(self, branch: Branch, limit: int, rival: int, bar: int) -> int:
        """Pick up to `limit` jobs of a branch until its tag reaches `rival`; returns how many.

        Only accounts whose tags are below `bar` are served.
        """
        ledger, queue = self._ledger, branch.queue
        if queue is not None and queue.bounds is not None:
            if ledger.block_if_full(queue):
                return 0
            limit = min(limit, queue.bounds.room(ledger.now_us))
        self._set_account_caps(branch)
        before = len(self.jobs)
        self._take(branch, before + limit, rival, bar)
        return self._count(branch, len(self.jobs) - before)

    def _set_account_caps(self, branch: Branch) -> None:
        """Cap the accounts of a branch at their shares of its share of the slots."""
        quota = self._quota * branch.weight / self._ledger.root.weight
        branch.accounts.limit(quota, self._lag_us)
        branch.drop_claimed()

    def _count(self, branch: Branch, jobs: int) -> int:
        """Count so many jobs of a branch as picked; returns how many."""
        if jobs:
            ledger, queue = self._ledger, branch.queue
            branch.in_flight += jobs
            ledger.unclaimed += jobs
            ledger.last_root_tag = max(ledger.last_root_tag, branch.rows[-1].root_tag)
            if queue is not None and queue.bounds is not None:
                self._spend(queue, queue.bounds, jobs)
                ledger.block_if_full(queue)
        return jobs

    def _take(self, branch: Branch, jobs_max: int, rival: int, bar: int) -> None:
        """Give accounts their turns until there are so many jobs, or the branch's turn is over.

        An account without a lane that has a job at hand is dropped from its heap when its entry
        surfaces, because it is not its entry any more.
        """
        accounts, ledger = branch.accounts, self._ledger
        selections = self._selections
        ready, capped, cap = accounts.ready, accounts.capped, accounts.cap
        setback = accounts.setback
        while (ready or capped) and len(self.jobs) < jobs_max and branch.start < rival:
            behind = not ready or (capped and capped[0] + setback < ready[0])
            heap = capped if behind else ready
            account = accounts.members[heap[0] & INDEX_MASK]
            lane = account.turn
            if account.key != heap[0] or lane is None:
                heappop(heap)
                continue
            if account.start >= bar:
                return
            bounds, keys, chosen = lane.bounds, lane.queue.keys, None
            if keys is not None and may_block_jobs(lane, keys):
                chosen = keys
            # Far from its limit, and short, a lane costs what it costs without.
            most = min(jobs_max - len(self.jobs), len(lane.heads.ready))
            plain = bounds is None or bounds.has_room_for(most)
            if plain and chosen is None and self._is_unguarded(lane, most):
                self._turn(lane, jobs_max, rival, self._hint_end_us)
            elif not self._careful_turn(lane, jobs_max, rival):
                continue
            heads = lane.heads
            ran_out = len(heads.ready) <= heads.refill_at and self._ran_low(lane)
            if not ran_out and not (not plain and ledger.block_if_full(lane)) and chosen:
                selections.take_out_if_stuck(lane, chosen)
            account.pass_turn()
            if account.turn is None:
                continue
            # As `Level.put` makes it, with one heap operation instead of two in the hot loop.
            key = account.key = (account.start << 1 | 1) << INDEX_BITS | account.index
            if behind or account.in_flight < cap * account.weight:
                heapreplace(heap, key)
            else:
                heappop(heap)
                heappush(capped, key)

    def _is_unguarded(self, lane: Lane, jobs: int) -> bool:
        """Whether so many jobs of a lane go whatever aging and the reserve say."""
        places = self._ledger.places
        return self._ledger.aging is None and (
            places is None or places.short_jobs(lane) >= jobs
        )

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
        before, bounds, places = len(self.jobs), lane.bounds, self._ledger.places
        kind, hint_end_us = SHORT, NEVER
        if bounds is not None:
            room = bounds.room(self._ledger.now_us)
            jobs_max = min(jobs_max, before + max(0, room))
        if lane.aged is not None:
            jobs_max = min(jobs_max, before + self._ledger.count_aged(lane))
        if places is not None and lane.heads.ready:
            kind, allowed = places.allow(lane, jobs_max - before)
            jobs_max = min(jobs_max, before + allowed)
            hint_end_us = NEVER if kind == LONG else self._hint_end_us
        self._turn(lane, jobs_max, rival, hint_end_us)
        if bounds is not None:
            self._spend(lane, bounds, len(self.jobs) - before)
        if places is not None and kind != SHORT:
            places.count(lane, kind, [job[0] for job in self.jobs[before:]])

    def _spend(self, member: Member, bounds: Limiter, jobs: int) -> None:
        if bounds.rates and jobs:
            bounds.spend(jobs, self._ledger.now_us)
            self.metered[member] = None

    def _turn(self, lane: Lane, jobs_max: int, rival: int, hint_end_us: int) -> None:
        """Take one job of a lane, or several that are so short that they make one turn.

        They share a tag, as to others they are one job; none is hinted to take `hint_end_us`.
        """
        account, branch, ledger = lane.account, lane.account.branch, self._ledger
        jobs, in_flight, before = self.jobs, ledger.in_flight_jobs, len(self.jobs)
        ready, rows, tags = lane.heads.ready, branch.rows, branch.tags
        weight, branch_start = account.weight, branch.start
        usual_us, cost_us, step = lane.expected_us, NEVER, 0
        branch_step = tag_increment(usual_us, branch.weight)
        tag = start = account.start
        debts = branch.accounts.time.begin_turn(account), ledger.root.time.begin_turn(branch)
        end, least = tag + self._turn_us, 0
        follows = len(tags) > branch.first and tag >= tags[-1]
        if follows:
            behind, scale = tag - tags[-1], branch.scale
            least = rows[-1].root_tag + (behind if scale == 1.0 else int(behind * scale))
        while start < end and branch_start < rival and len(jobs) < jobs_max and ready:
            job_id, _, hint_us, seen_us = head = ready.popleft()  # the hot loop: locals only
            if job_id in in_flight:
                self.doubtful.append(job_id)
                continue
            expected_us = usual_us
            if hint_us is not None:
                if hint_us >= hint_end_us:
                    ready.appendleft(head)
                    break
                expected_us = lane.hinted_us(hint_us, self._prior_samples)
            if expected_us != cost_us:
                cost_us = expected_us
                step = tag_increment(cost_us, weight)
            if follows:
                least = max(least, branch_start)
                job = InFlightJob(lane, head, lane.heads.rank, least, cost_us, usual_us)
                rows.append(job)
                tags.append(tag)
            else:
                job = InFlightJob(lane, head, lane.heads.rank, branch_start, cost_us, usual_us)
                if branch.place(tag, job, ledger.floor):
                    ledger.claim_floor.represent(job)
                least, follows = job.root_tag, tags[-1] == tag
            in_flight[job_id] = job
            jobs.append((job_id, least, cost_us, seen_us))
            start, branch_start = start + step, branch_start + branch_step
        account.start, branch.start = start + debts[0], branch_start + debts[1]
        taken = len(jobs) - before
        lane.take_turn(taken, taken * usual_us)
        ledger.waiting_us += taken * usual_us

    def _ran_low(self, lane: Lane) -> bool:
        """Report it to the heads; take a lane without heads out. Returns whether it did."""
        heads = lane.heads
        self._heads.ran_low(heads)
        if heads.ready:
            return False
        take_out(self._ledger, lane)
        return True


def _start_of(branch: Branch) -> int:
    return branch.start
