"""How long somebody has been held back, and for what: counted when the reason changes.

Who is let go and held back for the same reason in one plan was held back all the while: a lane
at its limit is let go by each ending, and takes what the ending left.
"""

from fairlead_scheduler.bounds import FREE


class Stint:
    """For how long a lane or a queue has waited without a break, and been held back.

    It begins anew with whoever begins to wait after having had nothing.

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
        """For how long each reason held it, but for the one that does now."""
        self._reason: int = FREE
        self._changed_us: int = begun_us
        self._former: int = FREE
        self._former_us: int = 0
        """What held it before, and since when."""

    def go_on(self, waits_since_us: int) -> None:
        """Begin anew if its waiting has had a break since it was let go."""
        if self._reason == FREE and waits_since_us > self._changed_us:
            self.begun_us = waits_since_us
            self.since_us = waits_since_us
            self._changed_us = waits_since_us
            self.sums_us = {}
            self._former = FREE

    def change(self, reason: int, now_us: int, waits_since_us: int) -> None:
        """Note another reason.

        Args:
            reason: What holds it from now on, or `FREE`.
            now_us: The database's time.
            waits_since_us: Since when it waits for service, if it does.
        """
        self.go_on(waits_since_us)
        before = self._reason
        same = reason != FREE and reason == self._former and now_us == self._changed_us
        if before != FREE:
            self._former, self._former_us = before, self.since_us
            self.sums_us[before] = self.sums_us.get(before, 0) + now_us - self._changed_us
        self.since_us = self._former_us if same else now_us
        self._reason, self._changed_us = reason, now_us

    def seconds(self, now_us: int) -> dict[int, float]:
        """Return for how many seconds each reason has held it since it began to wait."""
        sums_us = dict(self.sums_us)
        if self._reason != FREE:
            sums_us[self._reason] = sums_us.get(self._reason, 0) + now_us - self._changed_us
        return {reason: held_us / 1e6 for reason, held_us in sums_us.items()}
