"""What is decided for a pool, and what is remembered until the next decision."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from fairlead_autoscaler.decision.arrival_rate import ArrivalRate
from fairlead_autoscaler.decision.conditions import ConditionState
from fairlead_autoscaler.decision.drains import Drains
from fairlead_autoscaler.decision.foreign_writers import WriterState
from fairlead_autoscaler.decision.limits import ScaleUp
from fairlead_autoscaler.decision.readiness import Lost
from fairlead_autoscaler.decision.reasons import DemandTerm, Reason
from fairlead_autoscaler.decision.slot_demand import SlotDemand
from fairlead_autoscaler.decision.stabilization import NeedPoint
from fairlead_autoscaler.decision.startup_delay import StartupDelays


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is remembered of a pool.

    A new leader begins with an empty state, and removes no pod within the first window.
    """

    started_at: datetime | None = None
    """When the pool was first decided on."""
    arrival_rate: ArrivalRate | None = None
    startup_delays: StartupDelays = field(default_factory=StartupDelays)
    recent_needs: tuple[NeedPoint, ...] = ()
    scale_ups: tuple[ScaleUp, ...] = ()
    empty_since: datetime | None = None
    drains: Drains = field(default_factory=Drains)
    lost: tuple[Lost, ...] = ()
    """Pods that are ready no more."""
    writers: WriterState = field(default_factory=WriterState)
    conditions: tuple[ConditionState, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do, why, and what it is based on."""

    replicas: int
    """Pods that the pool is to have once all draining pods are gone."""
    scale: int | None
    """What to write to the workload; None: nothing."""
    drain: tuple[str, ...]
    """UIDs of pods to mark for draining, or whose mark to renew, until `drain_until`."""
    drain_until: datetime
    undrain: tuple[str, ...]
    """UIDs of pods whose mark to remove."""
    reason: Reason
    underlying: Reason
    """What the reason would be without the dry run."""
    limited: tuple[Reason, ...] = ()
    """What limited the pods, the tightest first."""
    forbidden: tuple[Reason, ...] = ()
    """What forbids adding, removing or anything, whether or not it was needed."""
    term: DemandTerm | None = None
    """The largest term; None: the demand is unknown."""
    slot_demand: SlotDemand | None = None
    details: Mapping[Reason, str] = field(default_factory=dict[Reason, str])
    """As `Inputs.details`; of scheduled work too, which schedules bring it."""
    recommended: int = 0
    """Pods by terms, floors and caps, before pacing and stabilization."""
    start_seconds: float = 0.0
    """How long a pod takes to start, as assumed by the decision."""
    ahead_seconds: float = 0.0
    """The same where pods wait for a node to be made: so far ahead is scheduled work seen."""
    conditions: tuple[ConditionState, ...]
    conditions_changed: bool
    """Whether a condition changed."""
    state: State

    @property
    def has_changed(self) -> bool:
        """Whether `scale` is to be written or a condition changed: either is worth an event."""
        return self.scale is not None or self.conditions_changed
