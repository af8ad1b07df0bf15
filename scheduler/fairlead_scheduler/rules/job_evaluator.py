"""Evaluate the conditions of rules for single jobs, when it is a job's turn.

The fair order asks job by job, so that the next job is evaluated first. All of it has a
twentieth of the loop's time, in slices; half of each slice is reserved for jobs that were never
evaluated, because these wait for it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fairlead.policy.cel.compiler import Scope
from fairlead_scheduler.limits.job_facts import JobFacts
from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.policy.rules import Condition, Labels
from fairlead_scheduler.rules.variables import known_lane_facts

_SLICE = 500
"""The most conditions that are evaluated in a slice."""
_SLICE_CPU_SECONDS = 0.0025
_NO_LANE: Scope = (None,) * 7
"""The values of a lane, for a condition that does not read them."""


class SliceUsage(NamedTuple):
    """CPU seconds of one rule's evaluations in a slice, and why one of them failed."""

    condition: Condition
    used: float
    failed: Exception | None
    true: int
    """The number of jobs for which it was true."""


class JobRuleEvaluator:
    """Evaluates in one slice after another; the fair order calls `evaluate`.

    Args:
        conditions: The conditions that read jobs.
        labels: The labels of tenants.
        used: Returns the thread's CPU time, in seconds.
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
        """Begin a slice with the values that all lanes of a pool share, by pool and zone."""
        self._values = values
        self._began_us, self._now_us = began_us, now_us
        self._left = _SLICE
        self._seconds.clear()
        self._failed.clear()
        self._true.clear()

    def usage(self) -> list[SliceUsage]:
        """Return the slice's use, for each rule that was evaluated."""
        return [
            SliceUsage(x, self._seconds[x.bit], self._failed.get(x.bit), self._true[x.bit])
            for x in self.conditions
            if x.bit in self._seconds
        ]

    def disable(self, condition: Condition) -> None:
        """Stop evaluating a rule; it holds no job any more."""
        self.conditions = [each for each in self.conditions if each is not condition]

    def evaluate(self, lane: Lane, facts: JobFacts, rules: int, *, again: bool) -> int | None:
        """Return which of these rules hold a job now; None if the slice has no time left."""
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
            known = known_lane_facts(
                lane, self._labels, began_us=self._began_us, now_us=self._now_us
            )
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
