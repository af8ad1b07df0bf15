"""Looking at the conditions of rules for single jobs, when it is a job's turn.

The fair order asks, job by job, so that whose turn comes first is looked at first. All of it
has a twentieth of the loop's time, in slices; half of each is for jobs that were never looked
at, because these wait for it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fairlead.policy.cel import Scope
from fairlead_scheduler.books import Lane
from fairlead_scheduler.facts import known_of
from fairlead_scheduler.judged import JobFacts
from fairlead_scheduler.rulebook import Condition, Labels

_SLICE = 500
"""Conditions that are looked at in a slice, at most."""
_SLICE_CPU_SECONDS = 0.0025
_NO_LANE: Scope = (None,) * 7
"""Stands for the values of a lane of which a condition asks nothing."""


class Spent(NamedTuple):
    """What one rule's looks took in a slice, and why one of them failed."""

    condition: Condition
    used: float
    failed: Exception | None
    true: int
    """For how many jobs it was true."""


class Judging:
    """The looks of one slice after another; `ask` is what the fair order asks.

    Args:
        conditions: Those that ask something of jobs.
        labels: Of tenants.
        used: How long the thread has worked, in seconds.
    """

    def __init__(
        self, conditions: Sequence[Condition], labels: Labels, used: Callable[[], float]
    ) -> None:
        self.conditions = list(conditions)
        self._labels = labels
        self._used = used
        self._values: Sequence[Mapping[str, Scope]] = ()
        self._began_us = self._now_us = 0
        self._left = 0
        self._spent: Counter[int] = Counter()
        self._seconds: dict[int, float] = {}
        self._failed: dict[int, Exception] = {}
        self._true: Counter[int] = Counter()

    def begin(
        self, values: Sequence[Mapping[str, Scope]], *, began_us: int, now_us: int
    ) -> None:
        """Begin a slice with these values, by pool and zone, of what is the same for a pool."""
        self._values = values
        self._began_us, self._now_us = began_us, now_us
        self._left = _SLICE
        self._seconds.clear()
        self._failed.clear()
        self._true.clear()

    def spent(self) -> list[Spent]:
        """Return what the slice took, for each rule that was looked at."""
        return [
            Spent(x, self._seconds[x.bit], self._failed.get(x.bit), self._true[x.bit])
            for x in self.conditions
            if x.bit in self._seconds
        ]

    def disable(self, condition: Condition) -> None:
        """Look at a rule no more: it holds nobody."""
        self.conditions = [each for each in self.conditions if each is not condition]

    def ask(self, lane: Lane, facts: JobFacts, rules: int, *, again: bool) -> int | None:
        """Return which of these rules hold a job now; None: there is no time for it."""
        if self._left <= (_SLICE // 2 if again else 0):
            return None
        job = facts.at(self._now_us)
        found = 0
        for condition in self.conditions:
            if condition.bit & rules and self._holds(condition, lane, job):
                found |= condition.bit
        if sum(self._seconds.values()) >= _SLICE_CPU_SECONDS:
            self._left = 0
        return found

    def _holds(self, condition: Condition, lane: Lane, job: Scope) -> bool:
        bit, began = condition.bit, self._used()
        known = _NO_LANE
        if condition.rule.reads_lane:
            known = known_of(lane, self._labels, began_us=self._began_us, now_us=self._now_us)
        self._left -= 1
        holds = False
        try:
            same = self._values[lane.queue.pool][condition.rule.zone]
            holds = condition.holds((*same, *known, *job))
        except Exception as error:  # noqa: BLE001 - whatever a rule raises, dispatch goes on
            self._failed[bit] = error
        self._true[bit] += holds
        self._seconds[bit] = self._seconds.get(bit, 0.0) + self._used() - began
        return holds
