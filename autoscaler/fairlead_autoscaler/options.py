"""What a controller works with, and what it remembers while it leads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from fairlead_autoscaler.decision import State


class Lead(Protocol):
    """Whether this process may write, and since which hand-over."""

    def leads(self) -> bool:
        """Tell whether it may at this moment."""
        ...

    @property
    def term(self) -> int:
        """Another number for each time that somebody came to lead."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the controller is to do, beside deciding."""

    holder: str
    """Unique to the process: under this name it leads in the database."""
    deployments: Mapping[str, str]
    """The Deployment of each pool."""
    enabled: bool = True
    """Whether pods are marked and pools scaled; if not, it is only said what would be done."""
    follows: bool = False
    """Whether the policy comes from ConfigMaps."""
    place: str = ""
    """Where it is edited, for people."""
    again_seconds: float = 60.0
    """How old the decision in the database may be while nothing changes."""
    reads_autoscalers: bool = False
    reads_quotas: bool = False


@dataclass(slots=True)
class Term:
    """What is remembered while this process leads; another term begins anew."""

    number: int
    epoch: int
    """Of the writes to the database."""
    states: dict[str, State] = field(default_factory=dict[str, State])
    at_zero: bool = True
    """Whether a pool has no pods, or it is not known yet."""
    failed: set[str] = field(default_factory=set[str])
    """Pools whose last write was refused, or of which nobody knows what became."""
    refused: bool = False
    """Whether the last step's writes met a Deployment that was newer than it knew."""
    repeats: int = 0
    """So many steps in a row came after one whose write was refused, this one among them."""
