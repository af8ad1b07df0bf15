"""How many slots of a pool have been idle for a while."""

_SPAN_US = 2_000_000
"""Workers say within two seconds that they hold less beside their slots."""


class IdleSlots:
    """The least number of slots that no row waited for, over the last two to four seconds.

    A worker's word about what it holds beside its slots is old when jobs that were locked have
    ended: slots seem to be free then that are not.
    """

    __slots__ = ("_before", "_lately", "_since_us")

    def __init__(self) -> None:
        self._before = self._lately = 0
        self._since_us = 0

    @property
    def least(self) -> int:
        """The least number; 0 when there was none, or nothing is known."""
        return max(0, min(self._before, self._lately))

    def observe(self, now_us: int, idle: int) -> None:
        """Take in how many are idle now, by the database's time."""
        if now_us - self._since_us >= _SPAN_US:
            # After a pause without plans nothing is known of the time before.
            is_old = now_us - self._since_us >= 2 * _SPAN_US
            self._before = 0 if is_old else self._lately
            self._lately, self._since_us = idle, now_us
        else:
            self._lately = min(self._lately, idle)
