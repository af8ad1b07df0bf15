"""What a controller is configured with, and what it remembers while it leads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from fairlead_autoscaler.decision.result import State
from fairlead_autoscaler.election.vacancy import Problem
from fairlead_autoscaler.targets import Target


class Leadership(Protocol):
    """Whether this process may write, and in which term of the Lease."""

    def is_leader(self) -> bool:
        """Return whether it may at this moment."""
        ...

    @property
    def term(self) -> int:
        """Another number each time that a candidate acquires the Lease."""
        ...

    @property
    def problem(self) -> Problem | None:
        """What keeps this process from leading; None: it leads, or another is seen to."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPod:
    """The pod that a controller runs in: what it says of itself is recorded there."""

    name: str = ""
    uid: str = ""
    """Empty: not known; the event then stands with no other of the pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The configuration of a controller."""

    holder: str
    """Unique to the process: the name under which it leads in the database."""
    pod: OwnPod = field(default_factory=OwnPod)
    release: str = ""
    """The release that it belongs to; it leads where the database is that one's or nobody's."""
    targets: Mapping[str, Target]
    """What holds each pool's pods."""
    enabled: bool = True
    """Whether pods are marked and pools scaled; if not, decisions are only reported."""
    syncs_policy: bool = False
    """Whether the policy comes from ConfigMaps."""
    policy_bounds: Mapping[str, int] = field(default_factory=dict[str, int])
    """The most pods that a pool may ask for in the ConfigMap that people edit."""
    policy_edited: str = ""
    """The name of that ConfigMap; empty: none is."""
    policy_location: str = ""
    """Where it is edited, for people."""
    refresh_seconds: float = 60.0
    """Maximum age of the stored decision while nothing changes."""
    direct: bool = True
    """Whether programs connect to PostgreSQL itself, and not to a pooler."""
    reads_autoscalers: bool = False
    reads_quotas: bool = False


@dataclass(slots=True)
class Term:
    """What is remembered while this process leads; another term begins anew."""

    number: int
    epoch: int
    """The epoch of writes to the database."""
    states: dict[str, State] = field(default_factory=dict[str, State])
    at_zero: bool = True
    """Whether a pool has no pods, or it is not known yet."""
    at_quota: bool = False
    """Whether a quota keeps a pool from pods that it needs."""
    failed: set[str] = field(default_factory=set[str])
    """Pools whose last write was refused or its outcome is unknown."""
    refused: bool = False
    """Whether a write of the last step hit a newer workload than was observed."""
    repeats: int = 0
    """Steps in a row, this one included, that each followed a refused write."""
