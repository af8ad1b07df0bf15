"""Whether an ending should wake the loop.

While a limit holds somebody back, nothing is queued that could run in an ending's place: its
slot is idle until the loop has seen the ending. A notifying transaction takes an instance-wide
lock until its commit is on disk, so endings may notify only while they are few. Where they are
many the loop looks at every tick anyway.
"""

from math import exp

_FADE_US = 500_000
_BUSY = 50.0
"""What a hundred notifications a second come to,"""
_QUIET = 25.0
"""and fifty."""
_KEEP_US = 1_000_000
"""How long after it was last needed nobody takes the trouble to call it off."""


class Alert:
    """What the loop has seen of endings lately, and so whether they may notify."""

    def __init__(self) -> None:
        self._heat = 0.0
        self._looked_us = 0
        self._needed_us = -_KEEP_US
        self.asked = False
        """Whether endings notify us; the loop sets it."""

    def looked(self, now_us: int, *, endings: int, limited: bool) -> None:
        """Take one look.

        Args:
            now_us: The database's time.
            endings: Transactions that have ended jobs since the last look.
            limited: Whether somebody is held back until something ends.
        """
        elapsed_us = max(0, now_us - self._looked_us)
        self._heat = self._heat * exp(-elapsed_us / _FADE_US) + endings
        self._looked_us = max(now_us, self._looked_us)
        if limited:
            self._needed_us = self._looked_us

    @property
    def wanted(self) -> bool:
        """Whether endings are to notify us from now on."""
        needed = self._looked_us - self._needed_us < _KEEP_US
        return needed and self._heat < (_BUSY if self.asked else _QUIET)
