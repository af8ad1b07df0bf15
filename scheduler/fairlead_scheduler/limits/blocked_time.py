"""How long a lane or queue has been blocked, by reason: counted when the reason changes.

A lane that is freed and blocked again for the same reason in one plan counts as blocked all the
while: each ending frees a lane at its limit, which then takes the slot that the ending left.
"""

from fairlead_scheduler.limits.blocked_reasons import FREE


class BlockedTime:
    """For how long a lane or a queue has waited without a break, and been blocked.

    It begins anew when the lane or queue begins to wait after having had no work.

    Args:
        begun_us: Since when it has waited.
    """

    __slots__ = (
        "_changed_us",
        "_former",
        "_former_us",
        "_reason",
        "begun_us",
        "since_us",
        "sums_us",
    )

    def __init__(self, begun_us: int) -> None:
        self.begun_us: int = begun_us
        self.since_us: int = begun_us
        """Since when its reason has been what it is."""
        self.sums_us: dict[int, int] = {}
        """For how long each reason blocked it, except for the current one."""
        self._reason: int = FREE
        self._changed_us: int = begun_us
        self._former: int = FREE
        self._former_us: int = 0
        """The previous reason, and since when."""

    def restart_after_break(self, waits_since_us: int) -> None:
        """Begin anew if its waiting has had a break since it was freed."""
        if self._reason == FREE and waits_since_us > self._changed_us:
            self.begun_us = waits_since_us
            self.since_us = waits_since_us
            self._changed_us = waits_since_us
            self.sums_us = {}
            self._former = FREE

    def change(self, reason: int, now_us: int, waits_since_us: int) -> None:
        """Record another reason.

        Args:
            reason: What blocks it from now on, or `FREE`.
            now_us: The database's time.
            waits_since_us: Since when it waits for service, if it does.
        """
        self.restart_after_break(waits_since_us)
        before = self._reason
        same = reason != FREE and reason == self._former and now_us == self._changed_us
        if before != FREE:
            self._former, self._former_us = before, self.since_us
            self.sums_us[before] = self.sums_us.get(before, 0) + now_us - self._changed_us
        self.since_us = self._former_us if same else now_us
        self._reason, self._changed_us = reason, now_us

    def seconds(self, now_us: int) -> dict[int, float]:
        """Return for how many seconds each reason has blocked it since it began to wait."""
        sums_us = dict(self.sums_us)
        if self._reason != FREE:
            sums_us[self._reason] = sums_us.get(self._reason, 0) + now_us - self._changed_us
        return {reason: blocked_us / 1e6 for reason, blocked_us in sums_us.items()}
