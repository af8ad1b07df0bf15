"""When newcomers have their first turns: names cost nothing, so they are let in at a rate.

Newcomers of one weight have their first turns one after the other, as if these were the jobs of
one member. Together they have its share: that of one of them, or a seventh of the slots where
that is more and they weigh as much as the others. Lighter ones have proportionally less.

Half of that is for newcomers with several jobs at hand. Names can be made up for nothing, but
each second job has to be inserted: a spray of single jobs does not delay one that has work.
"""

from dataclasses import dataclass
from operator import attrgetter

from fairlead_scheduler.ordering.levels.service import PREFERRED, M, Service

_AT_ONCE = 15.0
"""So many first turns newcomers may be ahead of their rate, in jobs of the usual weight."""
_KNOWN_TO_NEW = 6.0
"""By how much those that are known outweigh a crowd of newcomers."""
_PRIOR_RUNS = 4
_CLEARLY = 1.25
_LONG_KNOWN_US = 10_000_000


@dataclass(frozen=True, slots=True)
class Beside:
    """What competes where a newcomer comes."""

    now: int
    """V."""
    known_weight: float
    """The weight of those that are known."""
    usual_weight: float
    """The mean weight of those that compete, each counted by its weight: a crowd of light ones
    does not make light newcomers usual."""
    job_us: float
    """How long jobs run on average."""

    def one_job_later(self, weight: float) -> int:
        """Return V and a job more, of this weight or of the usual one if that is more."""
        return self.now + round(self.job_us / max(weight, self.usual_weight))


class FirstTurns:
    """The first turns of newcomers of one level."""

    __slots__ = ("_next", "_promised_us", "_ran_us", "_runs", "waiting")

    def __init__(self) -> None:
        self._next: dict[tuple[float, bool], float] = {}
        """The tag of the next one, by weight and by whether it takes several jobs."""
        self._runs = 0
        """How many jobs have ended of newcomers that were put off."""
        self._ran_us = 0.0
        """How long they ran."""
        self._promised_us = 0.0
        """How long first jobs were taken to run where turns were promised, at the least."""
        self.waiting = 0
        """How many newcomers wait that were put off."""

    def learn(self, ran_us: int, ended: int, window: int) -> None:
        """Take in how long first jobs ran that have ended, at the cost of the oldest."""
        runs = self._runs + ended
        self._ran_us = self._ran_us * min(1.0, window / runs) + ran_us
        self._runs = min(window, runs)

    def take(self, weight: float, beside: Beside, *, has_several: bool) -> int:
        """Return the tag of a newcomer's first turn; one that is not above V may be had now.

        Args:
            weight: Its weight.
            beside: What competes.
            has_several: Whether it is known to have several jobs.
        """
        turn = self._turn(weight, beside, has_several=False)
        of_several = self._turn(weight, beside, has_several=True) if has_several else turn
        kind, turn = of_several < turn, min(turn, of_several)
        self._next[weight, kind] = turn + self._apart(weight, beside)
        job_us = self._job_us(beside.job_us)
        self._promised_us = min(self._promised_us, job_us) if self.waiting else job_us
        return round(turn)

    def are_early(self, usual_us: float) -> bool:
        """Whether first jobs take clearly longer than where turns were promised.

        Args:
            usual_us: How long jobs run on average.
        """
        return self._job_us(usual_us) > _CLEARLY * self._promised_us

    def put_off(self, waiting: list[M], beside: Beside) -> None:
        """Drop all promises, and give those that wait new ones that are no earlier.

        Those of newcomers with several jobs stay, if none of these waits: however long the
        others have to wait by now, one that comes back is not to wait as long.

        Args:
            waiting: They, which are sorted by their tags.
            beside: What competes.
        """
        for each in waiting:
            each.start, each.service.debt = each.start + each.service.debt, 0
        waiting.sort(key=attrgetter("start"))
        for each in reversed(waiting):
            first = self._next[each.weight, False] = max(each.start, beside.now)
            if each.service.standing == PREFERRED:
                self._next[each.weight, True] = first
        self._promised_us = self._job_us(beside.job_us)
        for each in waiting:
            has_several = each.service.standing == PREFERRED
            turn = self.take(each.weight, beside, has_several=has_several)
            each.start = max(each.start, turn)

    def hold(self, service: Service) -> None:
        """Let a newcomer that was put off wait though the reserve for short jobs blocks it."""
        if service.put_off and not service.held:
            service.held = True
            self.waiting += 1

    def let_go(self, service: Service) -> None:
        """Hold a newcomer no longer; it may wait by itself from now on."""
        if service.held:
            service.held = False
            self.waiting -= 1

    def drop(self, service: Service) -> None:
        """Let a member that does not wait by itself be no newcomer that was put off."""
        self.let_go(service)
        service.put_off = False

    def hasten(self, weight: float, tag: int, beside: Beside) -> int:
        """Return the new tag of a newcomer that turns out to have several jobs."""
        turn = self._turn(weight, beside, has_several=True)
        if turn >= tag:
            return tag
        self._next[weight, True] = turn + self._apart(weight, beside)
        return max(beside.now, round(turn))

    def had(self, beside: Beside) -> None:
        """Note that a newcomer that was put off has its first turn.

        Where it was the last, the next need not wait long: turns may have been had early, while
        nobody else wanted the slots.
        """
        self.waiting -= 1
        if not self.waiting:
            for (weight, kind), turn in self._next.items():
                soon = beside.now + self._apart(weight, beside)
                self._next[weight, kind] = min(turn, soon)

    def _turn(self, weight: float, beside: Beside, *, has_several: bool) -> float:
        """Return the tag of the next first turn."""
        earliest = beside.now - _AT_ONCE * self._job_us(beside.job_us) / beside.usual_weight
        return max(self._next.get((weight, has_several), earliest), earliest)

    def _apart(self, weight: float, beside: Beside) -> float:
        """Return how far apart newcomers of this weight have their turns: half of them each."""
        crowd = beside.known_weight / _KNOWN_TO_NEW * min(1.0, weight / beside.usual_weight)
        return 2 * self._job_us(beside.job_us) / max(weight, crowd)

    def _job_us(self, usual_us: float) -> float:
        """Return how long first jobs run on average, where jobs run so long on average."""
        return (self._ran_us + _PRIOR_RUNS * usual_us) / (self._runs + _PRIOR_RUNS)


class AtOnce:
    """Newcomers that may go at once, until one begins that they would delay.

    That is a member that was known before them; where nobody was, it is one that has several
    jobs or comes back.
    """

    __slots__ = ("_are_all_new", "_is_over", "_since_us", "is_open")

    def __init__(self) -> None:
        self.is_open = False
        """Whether there may be such newcomers."""
        self._since_us = 0
        """When the first of them entered."""
        self._are_all_new = False
        """Whether nobody was known then."""
        self._is_over = False
        """Whether one that was known before them has begun."""

    def begin(self, at_us: int, *, are_all_new: bool) -> None:
        """Let newcomers go at once from now on, if none may yet.

        Those that came while all were new may be gone, or blocked, when others are known: then
        it is for the sake of these from now on, and no more for that of any with several jobs.
        """
        if self.is_open and (are_all_new or not self._are_all_new):
            return
        self.is_open, self._since_us, self._are_all_new = True, at_us, are_all_new
        self._is_over = False

    def note_known(self, known_us: int, at_us: int) -> None:
        """Note that a member begins that is known since then."""
        since_us = max(self._since_us, at_us - _LONG_KNOWN_US)
        self._is_over |= known_us < since_us and not self._are_all_new

    def is_over(self, at_us: int, *, are_known: bool) -> bool:
        """Whether one has begun that they would delay.

        Args:
            at_us: The time. Where all were new those that began when they did count together,
                a moment later.
            are_known: Whether any competes that is known, or has several jobs.
        """
        return self._is_over or (self._are_all_new and are_known and at_us > self._since_us)
