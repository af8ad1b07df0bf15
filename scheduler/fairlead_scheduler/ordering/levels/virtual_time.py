"""Virtual time of one level: the mean service of those that compete for its slots.

A member has two tags. Its *attained* tag A is the slot-time that its jobs have had, over its
weight: nothing that anybody claims moves it. Its *start* tag S, by which it is served, is A and
what its jobs in flight are expected to take yet.

Virtual time V is the weighted mean of A over the members that compete, as in EEVDF (Stoica and
Abdel-Wahab, 1995). So it advances with the service that was given, over the weight of those
that share it, also while newcomers keep coming. A member competes from the moment that it
waits until it waits no longer and V has reached its S: one that was served early and leaves is
counted until the others had as much (Linux calls this delayed dequeue).

A member that begins to wait does so with tags of V at least: idleness earns no credit. It has
its first turn with those that have waited longest, but pays for it from V on: to be early is no
credit either. While nothing waits, V is lifted to the largest A: capacity that no other member
wanted counts against none. V never goes back.

Names cost nothing, so newcomers are let in at a rate (`first_turns.py`). One that is put off
begins to compete with its first turn. A newcomer is a guest until its second turn, or until its
first if it came with several jobs and was not put off; from then on it is known. Where all are
new, those with several jobs are not put off, and single jobs go at once until such begin.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Generic

from fairlead_scheduler.ordering.levels.first_turns import AtOnce, Beside, FirstTurns
from fairlead_scheduler.ordering.levels.service import (
    EXPECTED,
    GUEST,
    KNOWN,
    NEW,
    OUT,
    PREFERRED,
    M,
    Service,
    settle_lift,
    tag_increment,
)

INDEX_BITS = 24
INDEX_MASK = (1 << INDEX_BITS) - 1
TAG_SHIFT = INDEX_BITS + 1
_PRIOR_RUNS = 4
_LAG_JOBS = 2.0
_ACQUAINTED_US = 500_000
"""For so long nobody is put off after the order began: all are unknown to a new leader."""
_PAUSE_US = 100_000
"""For so long first turns are not made later again: all that wait are looked at."""


class VirtualTime(Generic[M]):
    """V of one level, and which members compete.

    All sums are kept up to date by events, so that nothing is counted member by member.

    Args:
        members: Those of the level, by their places.
        prior_us: The first estimate of a job, until jobs have ended.
    """

    __slots__ = (
        "_at_once",
        "_competing",
        "_excess_us",
        "_had_turns",
        "_known",
        "_known_competing",
        "_known_weight",
        "_leaving",
        "_members",
        "_postponed_us",
        "_ran_squares",
        "_ran_us",
        "_running",
        "_runs",
        "_top",
        "_weight",
        "_weight_squares",
        "at_us",
        "begun_us",
        "first_turns",
        "now",
        "settle_lifts",
    )

    def __init__(self, members: list[M], prior_us: int) -> None:
        self._members = members
        self.now = 0
        """V as of the last `follow`."""
        self.at_us = 0
        """The time of the last `pass_to`, up to which running jobs are counted."""
        self._top = 0
        """The largest A of a member that competes no longer."""
        self.begun_us = 0
        """When the order began, which is the time of the first `pass_to` unless set before."""
        self._competing = 0
        self._weight = 0.0
        """The weight of those that compete."""
        self._weight_squares = 0.0
        """The sum of their squares."""
        self._known = 0
        """How many members are known, whether they compete or not."""
        self._known_competing = 0
        """How many compete that are known, or will be with their first turns."""
        self._known_weight = 0.0
        """Their weight."""
        self._had_turns = 0
        """How many compete that have had a turn."""
        self._running = 0
        """Their jobs that have been claimed and have not ended."""
        self._excess_us = 0.0
        """The sum of weight * (A - V) over them."""
        self._leaving: list[int] = []
        """Those that do not wait, by S; an entry that is no longer its member's is dropped."""
        self.first_turns = FirstTurns()
        self.settle_lifts: Callable[[], None] = lambda: None
        """Brings the tags of members up to date that the reserve for short jobs blocks."""
        self._at_once = AtOnce()
        self._postponed_us = -_PAUSE_US
        self._runs = _PRIOR_RUNS
        self._ran_us = float(_PRIOR_RUNS * prior_us)
        self._ran_squares = self._ran_us * prior_us
        """The sum of run * run / weight over the jobs of which `_ran_us` is the run time."""

    def behind_max(self, cap: float) -> int:
        """Return L: how far behind V a member may begin to wait, or be refunded.

        It is the size of so many jobs as a member may have in flight, of those that one finds
        running: a long job counts as often as it is long.

        Args:
            cap: In-flight jobs per weight from which on a member stands back.
        """
        if not self._ran_us:
            return 0
        return int(self._ran_squares / self._ran_us * max(_LAG_JOBS, cap))

    def start_at(self, tag: int) -> None:
        """Start at a tag, with no member that competes."""
        self.now = self._top = tag

    def learn(self, ran_us: int, ended: int, member: M, window: int) -> None:
        """Take in how long jobs of a member ran that have ended, at the cost of the oldest."""
        if member.service.standing == GUEST:
            self.first_turns.learn(ran_us, ended, window)
        runs = self._runs + ended
        if runs > window:
            keep = max(0.0, 1 - ended / window)
            self._ran_us *= keep
            self._ran_squares *= keep
        self._runs = min(runs, window)
        self._ran_us += ran_us
        self._ran_squares += ran_us * ran_us / (ended * member.weight)

    def learn_running(self, over_us: int, ran_us: int, weight: float) -> None:
        """Take in that a job has run for `over_us` more than was expected, and still runs."""
        self._ran_us += over_us
        self._ran_squares += over_us * ran_us / weight

    def pass_to(self, now_us: int) -> None:
        """Count the service of running jobs until now; an earlier time changes nothing."""
        if now_us > self.at_us:
            self.begun_us = self.begun_us or now_us
            self._excess_us += self._running * (now_us - self.at_us)
            self.at_us = now_us

    def follow(self) -> None:
        """Move V to the mean of A; those whose S it reaches may compete no longer."""
        leaving = self._leaving
        while True:
            if self._excess_us > 0:
                passed = int(self._excess_us / self._weight)
                self.now += passed
                self._excess_us -= passed * self._weight
            while leaving and not self._is_leaving(leaving[0]):
                heappop(leaving)
            if not leaving or leaving[0] >> TAG_SHIFT > self.now:
                break
            self._compete_no_longer(self._members[heappop(leaving) & INDEX_MASK])
        if len(leaving) > 2 * self._competing + 64:
            leaving[:] = [key for key in leaving if self._is_leaving(key)]
            heapify(leaving)

    def know(self, member: M) -> None:
        """Let a member that has not waited yet be known, because it is known elsewhere."""
        if member.service.standing == NEW:
            self._count_known(member.service)

    def forget(self, member: M) -> None:
        """Forget a member that neither waits nor competes."""
        self.first_turns.drop(member.service)
        self._known -= member.service.standing == KNOWN

    def lift(self) -> None:
        """Lift V to the largest A, because nothing waits: none competes any longer."""
        for key in self._leaving:
            if self._is_leaving(key):
                self._compete_no_longer(self._members[key & INDEX_MASK])
        self._leaving.clear()
        self.now = max(self.now, self._top)

    def enter(
        self, member: M, lowest: int, *, has_several: bool = False, resumes: bool = False
    ) -> None:
        """Let a member begin to wait, with tags of V at least.

        Args:
            member: The member.
            lowest: The smallest tag of what waits.
            has_several: Whether it is known to have several jobs.
            resumes: Whether only the reserve for short jobs kept it from waiting.
        """
        service, behind = member.service, self.now - member.start
        self.first_turns.let_go(service)
        service.leaves_at = OUT
        if service.put_off and (resumes or behind < 0):
            self.first_turns.waiting += 1
            service.debt = max(0, member.start - lowest) if behind >= 0 else 0
            member.start -= service.debt
            return
        if behind >= 0:
            self.move(member, behind)
            entry = min(self.now, lowest), max(0, self.now - lowest)
            if service.standing == NEW:
                service.standing = PREFERRED if has_several else EXPECTED
                first = self._first_turn(member.weight, has_several=has_several)
                if self._is_put_off(service.standing, first):
                    service.put_off = True
                    member.start, service.debt = (first, 0) if first > self.now else entry
                    self.first_turns.waiting += 1
                    return
            member.start, service.debt = entry
        if not service.competes:
            settle_lift(member, self.now)
            if service.standing == KNOWN:
                self._at_once.note_known(service.known_us, self.at_us)
            self._compete(member)

    def hasten(self, member: M, *, waits: bool) -> bool:
        """Let a newcomer that was put off go with those that have several jobs, if it waits.

        Returns whether that is sooner; a repeat changes nothing.
        """
        service, tag = member.service, member.start
        if service.standing != EXPECTED:
            return False
        service.standing = PREFERRED
        if service.competes:
            self._count_standing(member, 1)
        elif self._at_once.is_open:
            member.start = min(tag, self.now)
            if self._are_all_new and waits:
                self.first_turns.waiting -= 1
                self._admit(member)
            elif self._are_all_new:
                self.first_turns.drop(service)
        elif self._competing and tag > self.now:
            member.start = self.first_turns.hasten(member.weight, tag, self._beside())
        return member.start < tag

    def postpone(self) -> list[M]:
        """Return newcomers whose first turns are later from now on.

        They are, if some entered while nobody competed whom they would delay, and one begins;
        and if first jobs take longer than they seemed to when their turns were promised.
        """
        turns = self.first_turns
        pauses = self.at_us < self._postponed_us + _PAUSE_US
        if pauses or not (turns.waiting and self._competing):
            return []
        are_known = self._known_competing > 0 and not self._is_unacquainted
        is_over = self._at_once.is_over(self.at_us, are_known=are_known)
        is_open = self._at_once.is_open
        if not (is_over if is_open else turns.are_early(self._ran_us / self._runs)):
            return []
        self._at_once, self._postponed_us = AtOnce(), self.at_us
        self.settle_lifts()
        waiting = [each for each in self._members if each.service.put_off]
        turns.put_off(waiting, self._beside())
        return waiting

    def _first_turn(self, weight: float, *, has_several: bool) -> int:
        """Return the earliest tag of a newcomer's first turn."""
        if self._is_unacquainted or not self._competing:
            return 0
        if self._had_turns:
            return self.first_turns.take(weight, self._beside(), has_several=has_several)
        return 0 if has_several else self._beside().one_job_later(weight)

    def _is_put_off(self, standing: int, first: int) -> bool:
        """Whether a newcomer is, by the tag of its first turn.

        Where those that are known are idle it may go at once, until one of them begins: so a
        wave of customers does not wait for the sake of nobody. Where all are new, that is so
        for names with a single job, until others begin or half a second after a take-over.
        """
        if self._had_turns and not self._is_unacquainted:
            return first > self.now
        if not self._competing or (self._are_all_new and standing == PREFERRED):
            return False
        self._at_once.begin(self.at_us, are_all_new=self._are_all_new)
        return True

    def _admit(self, member: M) -> None:
        """Let a newcomer that was put off compete."""
        service = member.service
        service.attained, service.lifted, service.debt = self.now, 0, self.now - member.start
        self._compete(member)

    @property
    def _is_unacquainted(self) -> bool:
        """Whether all are new to the leader."""
        return self.at_us - self.begun_us < _ACQUAINTED_US

    @property
    def _are_all_new(self) -> bool:
        """Whether nobody is known, or nobody can be yet."""
        return self._is_unacquainted or not self._known

    def _beside(self) -> Beside:
        """Return what competes, which is something."""
        return Beside(
            now=self.now,
            known_weight=self._known_weight,
            # It is not below the plain mean, but for rounding.
            usual_weight=max(
                self._weight_squares / self._weight, self._weight / self._competing
            ),
            job_us=self._ran_us / self._runs,
        )

    def begin_turn(self, member: M) -> int:
        """Note how far behind V a member has its turn; returns what S is to advance besides."""
        service = member.service
        if service.standing != KNOWN:
            self._count_turn(member)
        debt, service.debt = service.debt, 0
        service.behind_at_turn = self.now - member.start - debt
        return debt

    def leave(self, member: M) -> None:
        """Let a member that waits no longer compete until V reaches its S."""
        service = member.service
        member.start += service.debt
        service.debt = 0
        if not service.competes:
            self.first_turns.waiting -= 1
            return
        if member.start - service.lifted <= self.now:
            self._compete_no_longer(member)
        else:
            self._leave_later(member)

    def move(self, member: M, tags: int) -> None:
        """Move both tags of a member on, as if it had had service."""
        service = member.service
        member.start += tags
        service.attained += tags
        if service.competes:
            self._excess_us += tags * member.weight
        if service.leaves_at != OUT:
            self._leave_later(member)

    def charge(
        self, member: M, cost_us: int, *, claimed_us: int = 0, behind_max: int = 0
    ) -> None:
        """Charge a member, or refund it.

        A claim is refunded until S is L behind V, or where it was when the member had its last
        turn: a member that claimed more than evidence says waited because of that, and is owed
        nothing for it.

        Args:
            member: The member.
            cost_us: What it is charged; below zero it is refunded.
            claimed_us: How much of a refund is of claims beyond evidence.
            behind_max: L.
        """
        service = member.service
        start = member.start = member.start + tag_increment(cost_us, member.weight)
        if claimed_us:
            short = self.now - max(behind_max, service.behind_at_turn) - service.debt - start
            if short > 0:
                self.move(member, min(short, tag_increment(claimed_us, member.weight)))
        if service.leaves_at != OUT:
            self._leave_later(member)

    def serve(self, member: M, begun: int, served_us: int) -> None:
        """Count service of a member; `pass_to` came first.

        Args:
            member: The member.
            begun: How many more of its jobs run than before.
            served_us: What they have had until now, beside what those that ran before have had
                since the last call.
        """
        service = member.service
        passed_us = self.at_us - service.since_us
        service.since_us = self.at_us
        had_us = service.running * passed_us + served_us
        service.attained += tag_increment(had_us, member.weight)
        service.running += begun
        if service.competes:
            self._excess_us += served_us
            self._running += begun
        elif service.attained > self._top:
            self._top = service.attained

    def reweigh(self, member: M, weight: float) -> None:
        """Give a member another weight; V must be up to date.

        What it has been charged beyond V stays the same in slot-time.
        """
        service, ratio = member.service, member.weight / weight
        competes, leaves = service.competes, service.leaves_at != OUT
        self.serve(member, 0, 0)
        if competes:
            self._compete_no_longer(member)
        start = member.start + service.debt
        service.debt, service.lifted = 0, round(service.lifted * ratio)
        expected = round((start - service.attained) * ratio)
        member.start = self.now + round(max(0, start - self.now) * ratio)
        service.attained = member.start - expected
        member.weight = weight
        if competes:
            self._compete(member)
            if leaves:
                self._leave_later(member)

    def _compete(self, member: M) -> None:
        """Count A in the mean."""
        service = member.service
        self.serve(member, 0, 0)
        service.competes, service.put_off = True, False
        self._competing += 1
        self._weight += member.weight
        self._weight_squares += member.weight * member.weight
        self._running += service.running
        self._count_standing(member, 1)
        self._excess_us += (service.attained - self.now) * member.weight

    def _compete_no_longer(self, member: M) -> None:
        """Leave A out of the mean."""
        service = member.service
        self.serve(member, 0, 0)
        service.competes, service.leaves_at = False, OUT
        self._top = max(self._top, service.attained)
        self._competing -= 1
        self._running -= service.running
        if self._competing:
            self._weight -= member.weight
            self._weight_squares -= member.weight * member.weight
            self._excess_us -= (service.attained - self.now) * member.weight
        else:
            self._weight = self._weight_squares = self._excess_us = 0.0
        self._count_standing(member, -1)
        if service.standing == GUEST and not service.running:
            self._count_known(service)

    def _count_turn(self, member: M) -> None:
        """Count a newcomer as a guest, or as known."""
        service = member.service
        if not service.competes:
            service.standing = GUEST
            self._admit(member)
            self.first_turns.had(self._beside())
            if not self.first_turns.waiting:
                self._at_once = AtOnce()
            return
        self._count_standing(member, -1)
        if service.standing in (PREFERRED, GUEST):
            self._count_known(service)
        else:
            service.standing = GUEST
        self._count_standing(member, 1)

    def _count_standing(self, member: M, by: int) -> None:
        """Count a member that competes as what it is now, or not any more."""
        standing = member.service.standing
        self._had_turns += by * (standing >= GUEST)
        if standing in (PREFERRED, KNOWN):
            self._known_competing += by
            weight = self._known_weight + by * member.weight
            self._known_weight = weight if self._known_competing else 0.0

    def _count_known(self, service: Service) -> None:
        service.standing, service.known_us = KNOWN, self.at_us
        self._known += 1

    def _leave_later(self, member: M) -> None:
        """Let a member compete until V reaches its S as it is now."""
        service = member.service
        key = service.leaves_at = member.start - service.lifted << TAG_SHIFT | member.index
        heappush(self._leaving, key)

    def _is_leaving(self, key: int) -> bool:
        """Whether an entry is its member's."""
        return self._members[key & INDEX_MASK].service.leaves_at == key
