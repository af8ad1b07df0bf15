"""The ledger of one (pool, band): what each lane was charged, and which rows wait.

An event notes what a lane owes; the next plan settles it. Unknown ids are ignored everywhere,
so an event that is reported twice changes nothing.
"""

from collections.abc import Iterable, Iterator, Sequence

from fairlead_scheduler.limits.blocked_reasons import LIMIT, RESERVE
from fairlead_scheduler.limits.limiter import Limiter
from fairlead_scheduler.ordering.aging import Aging
from fairlead_scheduler.ordering.blocked import Member
from fairlead_scheduler.ordering.claim_floor import ClaimFloor
from fairlead_scheduler.ordering.in_flight import AHEAD, CLOSED, UNCLAIMED, InFlightJob
from fairlead_scheduler.ordering.job_checks.key_state import KeyState
from fairlead_scheduler.ordering.lanes import Lane, Queue
from fairlead_scheduler.ordering.levels.accounts import Branch
from fairlead_scheduler.ordering.levels.level import NEVER, Level
from fairlead_scheduler.ordering.levels.order_tags import is_far_ahead
from fairlead_scheduler.ordering.pool_context import PoolContext
from fairlead_scheduler.ordering.reserve.blocked_lanes import ShortJobReserve
from fairlead_scheduler.ordering.reserve.places import BLOCKED, SHORT, Places
from fairlead_scheduler.ordering.tag_shift import TagShift
from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.policy.settings import FairSettings


class Ledger:
    """Lanes, queues and jobs in flight, and every event that moves a tag."""

    def __init__(
        self,
        table: CompiledPolicy,
        in_flight_jobs: dict[int, InFlightJob],
        context: PoolContext,
        *,
        band: int = 0,
    ) -> None:
        self.table, self.context, self.band = table, context, band
        context.ledgers[band : band + 1] = [self]
        self.now_us, self.slots = 0, 1
        self.blocked = context.blocked
        self.stale: dict[Lane, None] = {}
        """Lanes that are to get their new terms, those that have waited longest first."""
        self.rebound = False
        """Whether a lane that has its new terms may have more rows than they allow."""
        self.key_state = KeyState()
        self.active_rules = 0
        """The rules that hold, of those without lane variables."""
        self.may_exceed_limits = bool(table.stored)
        """Whether more rows may wait than limits allow."""
        self.root: Level[Branch] = Level(table.settings.prior_us)
        self.branches: dict[str | None, Branch] = {}
        """Those of named queues by their names; None: that of all others."""
        self.short_reserve = ShortJobReserve(self.root)
        self.queues: dict[str, Queue] = {}
        self.in_flight_jobs = in_flight_jobs
        self.reserving: dict[Member, None] = {}
        """Lanes and queues that have a reserve."""
        self.places: Places | None = None
        self.aging: Aging | None = None
        """None where there are no other bands."""
        self.unclaimed = 0
        """Rows that wait for a worker."""
        self.waiting_us = 0
        """How long these will take, and what is claimed and has no slot, by evidence."""
        self.to_recall: set[int] = set()
        """Unclaimed rows to be recalled: their tags are of an older numbering or of another
        branch, or their lanes turned out long."""
        self.mean = context.mean
        self.floor = 0
        self.last_root_tag = 0
        """The largest root tag of a row since the last time that none was unclaimed."""
        self._plans = 1
        self._dirty: list[Lane] = []
        self.claim_floor = ClaimFloor()
        self.tag_shift = TagShift()

    @property
    def settings(self) -> FairSettings:
        """The settings in force."""
        return self.table.settings

    @property
    def has_waiting(self) -> bool:
        """Whether a lane waits for service, or a row for a worker."""
        return self.root.active > 0 or self.unclaimed > 0

    def members(self) -> Iterator[Member]:
        """Yield every queue and every lane."""
        for queue in self.queues.values():
            yield queue
            yield from queue.all_lanes()

    def activate(self, lane: Lane) -> None:
        """Let a lane wait for service: its account's tag is V at least.

        So idleness earns no credit.
        """
        queue, account = lane.queue, lane.account
        branch = account.branch
        self.virtual_in(branch)
        lane.active = True
        several, resumes = len(lane.heads.ready) > 1, lane.resumes
        lane.resumes = False
        if not resumes:
            lane.waits_since_us = self.now_us
        if lane.ran_dry:
            lane.ran_dry = False
            if not lane.in_flight:
                lane.mean.proven = 0
        lane.expected_us = lane.mean.shrunk_us(queue.prior_us, self.settings.prior_samples)
        lane.hint_max_us = queue.hint_max_us(lane.mean)
        account.lanes_active += 1
        if account.lanes_active == 1:
            account.active = True
            branch.accounts.join(account, has_several=several, resumes=resumes)
        if not (branch.active or queue.blocked_by):
            self._join(branch, has_several=several, resumes=resumes)

    def virtual_in(self, branch: Branch) -> int:
        """Return V between the accounts of a branch, brought up to date once in a plan."""
        if branch.settled_in != self._plans:
            branch.settled_in = self._plans
            branch.accounts.advance(branch.smallest_tag(), self.now_us)
        return branch.accounts.virtual

    def rest(self, lane: Lane) -> None:
        """Let a lane wait no longer that has nothing pending."""
        lane.ran_dry, lane.resumes = True, False
        if lane.active:
            self.deactivate(lane)

    def deactivate(self, lane: Lane) -> None:
        """Let a lane wait no longer: it has nothing, or is blocked."""
        account = lane.account
        branch = account.branch
        lane.active = False
        account.withdraw(lane)
        account.lanes_active -= 1
        if not account.lanes_active:
            account.active = False
            branch.accounts.leave(account)
        if branch.active and not branch.accounts.active:
            branch.active = False
            self.root.leave(branch)

    def bind(self, member: Member, queue: str, tenant: str | None) -> None:
        """Give a member the bounds and the reserve of its terms."""
        if member.terms.reserve_of(1):
            self.reserving[member] = None
        else:
            self.reserving.pop(member, None)
        self.context.bind(member, (queue, tenant), slots=self.slots, now_us=self.now_us)

    def block_if_full(self, member: Member) -> bool:
        """Block a member if its bounds leave no room; whether it is blocked."""
        bounds = member.bounds
        if bounds is None or bounds.room(self.now_us) > 0:
            return False
        self.block(member, bounds.reason)
        return True

    def block(self, member: Member, reason: int) -> None:
        """Block a member: it waits for service no longer."""
        if isinstance(member, Lane) and member.blocked_by == RESERVE:
            self.short_reserve.remove(member)
        self.blocked.block(member, reason, self.now_us)
        if isinstance(member, Lane):
            if member.active:
                self.deactivate(member)
            if reason == RESERVE:
                self.short_reserve.add(member)
        elif member.branch.queue is member and member.active:
            member.branch.active = False
            self.root.leave(member.branch)

    def awaits_place(self, lane: Lane) -> bool:
        """Whether a lane that the reserve blocks stays blocked until its turn comes."""
        places = self.places
        return places is not None and bool(lane.heads.ready) and places.kind_of(lane) != SHORT

    def block_if_reserved(self, lane: Lane) -> bool:
        """Block a lane if the reserve lets its next job not go; whether it is blocked."""
        places = self.places
        if places is None or not lane.heads.ready or places.kind_of(lane) != BLOCKED:
            return False
        places.turned_down.add(lane)
        self.block(lane, RESERVE)
        return True

    def unblock_long(self, *, more: bool) -> list[Lane]:
        """Unblock lanes for whose next jobs the reserve leaves room: admit them.

        `more` means beside those that were unblocked before and wait for their turns.
        """
        found: list[Lane] = []
        if self.places is not None and self.root.reserve_blocked:
            found = self.short_reserve.next_lanes(self.places, self.virtual_in, more=more)
        for lane in found:
            self.unblock(lane)
        return found

    def count_aged(self, lane: Lane) -> int:
        """Return how many of a lane's next jobs may go here that come from another band."""
        aging = self.aging
        return 0 if aging is None else aging.aged(lane.heads, self.band, self.now_us)

    def deactivate_unless_aged(self, lane: Lane) -> bool:
        """Rest a lane of aged jobs whose next one has not aged; whether it rests."""
        if lane.aged is None or self.count_aged(lane) or not lane.heads.ready:
            return False
        self.deactivate(lane)
        if self.aging is not None:
            self.aging.note(lane.heads)
        return True

    def reserve_use(self, member: Member) -> tuple[int, int]:
        """Return how many jobs a member has in flight, in all places, and its reserve."""
        in_flight = member.in_flight
        if self.context.has_several:
            names = (member.name, None) if isinstance(member, Queue) else member.owner
            in_flight = sum(each.in_flight for each in self.context.members(*names))
        return in_flight, member.terms.reserve_of(self.slots)

    def unblock(self, lane: Lane) -> None:
        """Block a lane no longer, whatever the reason: admit it."""
        if lane.blocked_by == RESERVE:
            self.short_reserve.remove(lane)
            lane.resumes = True
        self.blocked.unblock(lane, self.now_us)

    def unblock_queue(self, queue: Queue) -> None:
        """Let a queue wait for service again, if it has lanes that do, and there is room."""
        self.blocked.unblock(queue, self.now_us)
        branch = queue.branch
        if branch.accounts.active and not branch.active and not self.block_if_full(queue):
            self._join(branch)
            if branch.accounts.first() is not None:
                self.root.put(branch)

    def _join(
        self, branch: Branch, *, has_several: bool = False, resumes: bool = False
    ) -> None:
        branch.active = True
        branch.waits_since_us = self.now_us
        self.root.join(branch, has_several=has_several, resumes=resumes)

    def settle(self) -> None:
        """Begin a plan: find the floor, collect what is owed, bring V up to date."""
        self._plans += 1
        self.context.enter_slots(self.now_us)
        if not self.unclaimed:
            self.last_root_tag = 0
        lowest = self.claim_floor.lowest_tag()
        if lowest != NEVER:
            self.floor = lowest
        owing, self._dirty = self._dirty, []
        queues = dict.fromkeys([lane.queue for lane in owing])
        branches = dict.fromkeys([lane.account.branch for lane in owing])
        self._serve(owing, queues, branches)
        self._charge(owing)
        for branch in branches:
            self.root.charge(branch, branch.owed_us)
            branch.owed_us = 0
        for queue in queues:
            if queue.bounds is not None:
                self._recheck(queue.bounds)
        self.root.advance(lowest, self.now_us)

    def claim(self, ids: Iterable[int], at_us: int) -> None:
        """Note that workers claimed these rows."""
        get, slots = self.in_flight_jobs.get, self.context.slot_entry
        note_tag = self.tag_shift.claimed_tags.append
        claimed = 0
        for job_id in ids:
            job = get(job_id)
            if job is not None and job.claimed_us == UNCLAIMED:
                claimed += 1
                note_tag(job.root_tag)
                if slots.ahead or slots.occupied >= slots.slots:
                    job.claimed_us = AHEAD
                    slots.ahead.append((job, at_us))
                else:
                    slots.occupied += 1
                    self.enter(job, at_us)
        self.unclaimed -= claimed

    def enter(self, job: InFlightJob, at_us: int) -> None:
        """Note since when a claimed job has had its slot."""
        job.claimed_us = at_us
        self.waiting_us -= job.queue_charged_us
        lane = job.lane
        service = lane.account.new_service
        service.begun += 1
        service.begun_us += at_us
        self._settle_next(lane)

    def _leave(self, job: InFlightJob) -> None:
        """Note that a job leaves `work_queue`, and its slot if it has one."""
        if job.claimed_us >= 0:
            self.context.slot_entry.occupied -= 1
            job.lane.account.new_service.end(job.claimed_us)
        else:
            self.unclaimed -= job.claimed_us == UNCLAIMED
            self.waiting_us -= job.queue_charged_us
        job.claimed_us = CLOSED

    def end(self, ids: Sequence[int], run_us: Sequence[int]) -> None:
        """Close jobs in flight, charging what they ran instead of what was expected."""
        if self.key_state.queues:
            self.key_state.release(ids, self.in_flight_jobs)
        pop = self.in_flight_jobs.pop
        unclaimed = left = waiting_us = 0
        if self.places is not None:
            self.places.remove(ids)
        for job_id, run in zip(ids, run_us, strict=True):
            job = pop(job_id, None)
            if job is None:
                continue
            lane = job.lane
            account = lane.account
            branch = account.branch
            service, claimed_us = account.new_service, job.claimed_us
            if claimed_us >= 0:  # as `_leave`, without calls in the hot loop
                left += 1
                service.begun -= 1
                service.begun_us -= claimed_us
            else:
                unclaimed += claimed_us == UNCLAIMED
                waiting_us += job.queue_charged_us
            job.claimed_us = CLOSED
            lane.in_flight -= 1
            lane.queue.in_flight -= 1
            account.in_flight -= 1
            branch.in_flight -= 1
            charged_us, usual_us = job.charged_us, job.queue_charged_us
            account.owed_us -= charged_us
            branch.owed_us -= usual_us
            if charged_us > usual_us and charged_us > run:
                account.claimed_us += charged_us - max(usual_us, run)
            if run > 0:
                account.owed_us += run
                branch.owed_us += run
                service.had_us += run
                lane.ran_us += run
                lane.ended += 1
            if not lane.dirty:
                self._settle_next(lane)
        self.unclaimed -= unclaimed
        self.waiting_us -= waiting_us
        self.context.slot_entry.occupied -= left

    def withdraw(self, job_id: int) -> InFlightJob | None:
        """Close a job in flight as if it had never been, refunding its charge."""
        self.to_recall.discard(job_id)
        return self.close(job_id, refund=True)

    def close(self, job_id: int, *, refund: bool = False) -> InFlightJob | None:
        """Close a job in flight; its charge stands unless it is refunded."""
        if self.key_state.queues:
            self.key_state.release((job_id,), self.in_flight_jobs)
        job = self.in_flight_jobs.pop(job_id, None)
        if job is not None:
            lane = job.lane
            lane.count_in_flight(-1)
            if job.claimed_us != UNCLAIMED:
                lane.served_us += job.charged_us
            self._leave(job)
            if refund:
                self.owe(lane, -job.charged_us, -job.queue_charged_us)
            else:
                lane.account.new_service.had_us += job.charged_us
                self.owe(lane, 0, job.charged_us - job.queue_charged_us)
            if self.places is not None:
                self.places.remove((job_id,))
        return job

    def hand_back(self, ids: Iterable[int], at_us: int) -> None:
        """Note that claimed rows wait again, to be charged a second time."""
        for job_id in ids:
            job = self.in_flight_jobs.get(job_id)
            if job is None or job.claimed_us == UNCLAIMED:
                continue
            lane = job.lane
            ran_us = 0 if job.claimed_us == AHEAD else max(0, at_us - job.claimed_us)
            lane.served_us += ran_us
            self._leave(job)
            lane.account.new_service.had_us += ran_us
            expected_us = lane.expected_us
            self.owe(
                lane,
                ran_us - job.charged_us + expected_us,
                ran_us - job.queue_charged_us + expected_us,
            )
            place = (lane, job.head, job.rank, job.root_tag)
            again = InFlightJob(*place, expected_us, expected_us)
            self.in_flight_jobs[job_id] = again
            self.unclaimed += 1
            self.waiting_us += expected_us
            self.hold_floor(job_id, again)
            self.tag_shift.came_back(job_id, again.root_tag)
            self.check_for_recall(lane)

    def hold_floor(self, job_id: int, job: InFlightJob) -> None:
        """Let a row that waits hold the floor; recall one with a tag of an older numbering."""
        if is_far_ahead(job.root_tag, self.floor):
            self.recall(job_id)
        else:
            self.claim_floor.add(job)

    def recall(self, job_id: int) -> None:
        """Have an unclaimed row recalled, to be dispatched anew."""
        self.to_recall.add(job_id)
        self.may_exceed_limits = True

    def owe(self, lane: Lane, cost_us: int, queue_cost_us: int) -> None:
        """Let the next plan charge a lane's account and branch, or refund them."""
        lane.account.owed_us += cost_us
        lane.account.branch.owed_us += queue_cost_us
        self._settle_next(lane)

    def _settle_next(self, lane: Lane) -> None:
        if not lane.dirty:
            lane.dirty = lane.account.dirty = True
            self._dirty.append(lane)

    def check_for_recall(self, lane: Lane) -> None:
        """Have a new unclaimed row checked for a recall, if it may not wait where it is."""
        queue = lane.queue
        has_hold = lane.terms.blocking_rule is not None or queue.terms.blocking_rule is not None
        self.may_exceed_limits = (
            self.may_exceed_limits or has_hold or queue.foreign or queue.rules.jobs > 0
        )

    def _serve(
        self, owing: Iterable[Lane], queues: Iterable[Queue], branches: Iterable[Branch]
    ) -> None:
        """Count what accounts and branches have had, and learn from what has ended in them."""
        window, now_us, root = self.settings.window, self.now_us, self.root.time
        for branch in branches:
            branch.accounts.time.pass_to(now_us)
        root.pass_to(now_us)
        for lane in owing:
            account = lane.account
            branch, service = account.branch, account.new_service
            if lane.ended:
                lane.queue.learn(lane, window)
            if len(self.context.ledgers) > 1 and service.had_us:
                self.context.serve_elsewhere(self, account)
            branch.new_service.add(service)
            service.count(branch.accounts.time, account, now_us)
        for queue in queues:
            if queue.ended:
                self.mean.add(queue.ran_us, queue.ended, window)
                queue.settle(self.settings)
        for branch in branches:
            if branch.ended:
                root.learn(branch.ran_us, branch.ended, branch, window)
                branch.ran_us = branch.ended = 0
            branch.new_service.count(root, branch, now_us)
            branch.accounts.time.follow()
        root.follow()

    def _charge(self, owing: Iterable[Lane]) -> None:
        """Charge what accounts owe, by the virtual time of now."""
        prior_samples = self.settings.prior_samples
        for lane in owing:
            queue, account, ended = lane.queue, lane.account, lane.ended
            lane.dirty = False
            if ended:
                lane.expected_us = lane.mean.shrunk_us(queue.prior_us, prior_samples)
                lane.hint_max_us = queue.hint_max_us(lane.mean)
                lane.ended = lane.ran_us = 0
            if account.dirty:
                account.dirty = False
                account.branch.accounts.charge(account, account.owed_us, account.claimed_us)
                account.owed_us = account.claimed_us = 0
                self.short_reserve.moved(account)
            bounds = lane.bounds
            if bounds is not None and (lane.blocked_by or len(bounds.members) > 1):
                self._recheck(bounds)
            if lane.blocked_by == RESERVE and ended:
                self.blocked.recheck(lane)

    def _recheck(self, bounds: Limiter) -> None:
        """Have members with these bounds that a limit blocks checked again, in all bands."""
        for member in bounds.members:
            if isinstance(member, Lane | Queue) and member.blocked_by == LIMIT:
                self.blocked.recheck(member)
