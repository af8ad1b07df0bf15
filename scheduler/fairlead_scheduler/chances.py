"""What goes wrong with the conditions of rules, and when that is enough to disable one."""

from fairlead_scheduler.rulebook import Condition

CPU_SECONDS_MAX = 0.005
"""What one rule may take of the thread's time at once."""
_CHANCES = 3


class Chances:
    """Counts what goes wrong: three overruns in a row, or three failures, are enough."""

    __slots__ = ("_failed", "_overran")

    def __init__(self) -> None:
        self._overran: dict[int, int] = {}
        self._failed: dict[int, int] = {}

    def judge(
        self, condition: Condition, *, used: float, failed: Exception | None
    ) -> str | None:
        """Take what a look used, and why it failed; return why the rule is to be disabled."""
        bit = condition.bit
        if failed is not None:
            self._failed[bit] = self._failed.get(bit, 0) + 1
        self._overran[bit] = self._overran.get(bit, 0) + 1 if used >= CPU_SECONDS_MAX else 0
        if self._failed.get(bit, 0) >= _CHANCES:
            return f"had no value {_CHANCES} times, the last time: {failed}"
        if self._overran[bit] >= _CHANCES:
            most = f"{CPU_SECONDS_MAX * 1000:.0f} ms"
            return f"took over {most} {_CHANCES} times in a row"
        return None
