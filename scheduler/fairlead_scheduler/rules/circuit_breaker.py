"""A circuit breaker per rule: counts what goes wrong, and says when to disable the rule."""

from typing import NamedTuple

from fairlead_scheduler.policy.rules import Condition

CPU_SECONDS_MAX = 0.005
"""CPU time that one rule's evaluation may take at once."""
_MAX_FAULTS = 3


class DisabledRule(NamedTuple):
    """A rule of the policy in force that is disabled until another version is stored."""

    version: int
    rule: str
    reason: str


class CircuitBreaker:
    """Opens after three overruns in a row, or three failures."""

    __slots__ = ("_failed", "_overran")

    def __init__(self) -> None:
        self._overran: dict[int, int] = {}
        self._failed: dict[int, int] = {}

    def record(
        self, condition: Condition, *, used: float, failed: Exception | None
    ) -> str | None:
        """Record an evaluation; return why to disable the rule, or None."""
        bit = condition.bit
        if failed is not None:
            self._failed[bit] = self._failed.get(bit, 0) + 1
        self._overran[bit] = self._overran.get(bit, 0) + 1 if used >= CPU_SECONDS_MAX else 0
        if self._failed.get(bit, 0) >= _MAX_FAULTS:
            return f"had no value {_MAX_FAULTS} times, the last time: {failed}"
        if self._overran[bit] >= _MAX_FAULTS:
            most = f"{CPU_SECONDS_MAX * 1000:.0f} ms"
            return f"took over {most} {_MAX_FAULTS} times in a row"
        return None
