"""When the loop may rest, and whether INSERTs and endings should notify it.

A notifying transaction takes an instance-wide lock at its commit, so INSERTs may notify only
while they are rare. Recent activity is measured as heat, which decays with a time constant of
half a second: each tick that finds new jobs adds one, and many jobs add more.
"""

from math import exp

_FADE_US = 500_000
_HEAT_MAX = 40.0
_BUSY = 20.0
_QUIET = 12.0
_JOBS_PER_HEAT = 20
_QUIET_TICKS = 3
_ENDINGS_BUSY = 50.0
"""The heat of a hundred notifications a second: stop listening."""
_ENDINGS_QUIET = 25.0
"""The heat of fifty notifications a second: listen again."""
_LINGER_US = 1_000_000
"""How long notifications stay on after they were last needed, to avoid flapping."""


class IdlePacing:
    """Decides from recent activity whether the loop may rest.

    Twenty single INSERTs a second leave it resting; forty, or a batch of hundreds, make it
    busy.
    """

    def __init__(self) -> None:
        self._heat = 0.0
        self._ticked_us = 0
        self._quiet_ticks = 0
        self.resting = False
        """Whether the loop has asked to be notified; the loop sets it."""

    def record_tick(self, now_us: int, *, arrived: int, planned: int, changed: bool) -> None:
        """Record one tick: jobs that arrived, jobs dispatched, and any other change."""
        faded = exp((self._ticked_us - now_us) / _FADE_US) if now_us > self._ticked_us else 1.0
        added = bool(arrived) + max(arrived, planned) / _JOBS_PER_HEAT
        self._heat = min(_HEAT_MAX, self._heat * faded + added)
        self._ticked_us = max(now_us, self._ticked_us)
        still = not (arrived or planned or changed)
        self._quiet_ticks = self._quiet_ticks + 1 if still else 0

    @property
    def may_rest(self) -> bool:
        """Whether INSERTs are rare enough to let them notify."""
        return self._heat < (_BUSY if self.resting else _QUIET)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has happened for three ticks, so that the next one may wait."""
        return self._quiet_ticks >= _QUIET_TICKS


class EndingPacing:
    """Decides from the rate of endings whether they should notify the loop."""

    def __init__(self) -> None:
        self._heat = 0.0
        self._ticked_us = 0
        self._needed_us = -_LINGER_US
        self.asked = False
        """Whether endings notify us; the loop sets it."""

    def record_tick(self, now_us: int, *, endings: int, limited: bool) -> None:
        """Record one tick.

        Args:
            now_us: The database's time.
            endings: Transactions that have ended jobs since the last tick.
            limited: Whether a lane is blocked until something ends.
        """
        elapsed_us = max(0, now_us - self._ticked_us)
        self._heat = self._heat * exp(-elapsed_us / _FADE_US) + endings
        self._ticked_us = max(now_us, self._ticked_us)
        if limited:
            self._needed_us = self._ticked_us

    @property
    def is_wanted(self) -> bool:
        """Whether endings should notify from now on."""
        needed = self._ticked_us - self._needed_us < _LINGER_US
        return needed and self._heat < (_ENDINGS_BUSY if self.asked else _ENDINGS_QUIET)
