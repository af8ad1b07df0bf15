"""What is decided for a pool, and what must be remembered until the next time."""

from dataclasses import dataclass, field
from datetime import datetime

from fairlead_autoscaler.conflicts import Standing
from fairlead_autoscaler.drains import Drains
from fairlead_autoscaler.limits import Raise
from fairlead_autoscaler.rates import Rates
from fairlead_autoscaler.reasons import Reason, Term
from fairlead_autoscaler.stabilization import Point
from fairlead_autoscaler.starts import Starts
from fairlead_autoscaler.transitions import Told
from fairlead_autoscaler.wanted import Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is remembered of a pool.

    A new leader begins with an empty one, and chooses no pod to go within the first window.
    """

    begun_at: datetime | None = None
    """When it was looked at first."""
    rates: Rates | None = None
    starts: Starts = field(default_factory=Starts)
    points: tuple[Point, ...] = ()
    raises: tuple[Raise, ...] = ()
    empty_since: datetime | None = None
    drains: Drains = field(default_factory=Drains)
    standing: Standing = field(default_factory=Standing)
    told: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do, why, and what was weighed."""

    replicas: int
    """Pods that the pool is to have when those on their way out are gone."""
    scale: int | None
    """What to write to the Deployment; None: nothing."""
    drain: tuple[str, ...]
    """UIDs of pods to mark, or whose mark to renew, until `drain_until`."""
    drain_until: datetime
    undrain: tuple[str, ...]
    """UIDs of pods whose mark to remove."""
    reason: Reason
    underlying: Reason
    """What the reason would be if this were no dry run."""
    limited: tuple[Reason, ...] = ()
    """What held the pods back, the tightest first."""
    forbidden: tuple[Reason, ...] = ()
    """What forbids adding, taking away or anything, whether or not that was wanted."""
    term: Term | None = None
    """What asked for most; None: nobody knows what the pool needs."""
    wanted: Wanted | None = None
    recommended: int = 0
    """Pods by the terms, floors and caps, before paces and the past."""
    start_seconds: float = 0.0
    """How long a pod takes to start, as the decision took it to be."""
    conditions: tuple[Told, ...]
    turned: bool
    """Whether a condition is another than before."""
    state: State

    @property
    def changed(self) -> bool:
        """Whether `scale` is to be written or a condition turned: an event says so."""
        return self.scale is not None or self.turned
