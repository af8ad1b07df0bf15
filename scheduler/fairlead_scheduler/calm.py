"""Whether to sleep, and whether an INSERT should wake us.

A notifying transaction takes an instance-wide lock at its commit, so INSERTs may notify only
while they are rare. How much has happened of late is measured as heat, which fades within half
a second: each look that finds new jobs adds one, and many jobs add more.
"""

from math import exp

_FADE_US = 500_000
_HEAT_MAX = 40.0
_BUSY = 20.0
_QUIET = 12.0
_JOBS_PER_HEAT = 20
_STIRRED_LOOKS = 3
_FEW_JOBS = 2
_SHARE_FOR_FEW = 0.5


def tick_share(*, jobs: int, free: int) -> float:
    """Return what part of a tick to rest after a look that sent out so many jobs.

    Half a tick while few jobs come and slots are free: to each of them the tick is nearly all
    of its wait. Where many share a look, or all slots are taken, haste gains nobody anything.

    Args:
        jobs: What the look sent out.
        free: Slots that hold nothing.
    """
    return _SHARE_FOR_FEW if jobs <= _FEW_JOBS <= free else 1.0


class Calm:
    """What the loop has seen lately, and so how long it may rest.

    Twenty single INSERTs a second leave it resting; forty, or a batch of hundreds, make it
    busy.
    """

    def __init__(self) -> None:
        self._heat = 0.0
        self._looked_us = 0
        self._quiet_looks = 0
        self.resting = False
        """Whether the loop has asked to be notified; the loop sets it."""

    def looked(self, now_us: int, *, arrived: int, planned: int, stirred: bool) -> None:
        """Take one look: jobs that arrived, jobs that were dispatched, and any other change."""
        faded = exp((self._looked_us - now_us) / _FADE_US) if now_us > self._looked_us else 1.0
        added = bool(arrived) + max(arrived, planned) / _JOBS_PER_HEAT
        self._heat = min(_HEAT_MAX, self._heat * faded + added)
        self._looked_us = max(now_us, self._looked_us)
        still = not (arrived or planned or stirred)
        self._quiet_looks = self._quiet_looks + 1 if still else 0

    @property
    def may_rest(self) -> bool:
        """Whether INSERTs are rare enough to let them notify."""
        return self._heat < (_BUSY if self.resting else _QUIET)

    @property
    def quiet(self) -> bool:
        """Whether nothing has happened for a few looks, so that the next one may wait."""
        return self._quiet_looks >= _STIRRED_LOOKS
