"""What a scheduler says of itself at `/metrics`: what it dispatched, how long looks took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

_SECONDS = 5.0
_LAG = "fairlead_scheduler_lag_seconds_bucket"
_DISPATCHED = "fairlead_scheduler_dispatched_total"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Counts since the scheduler's start."""

    dispatched: int
    looks: Mapping[float, int]
    """How many took so many seconds at most, from when they were due to their end."""

    def since(self, before: Said) -> Said:
        """Return what came in between."""
        return Said(
            dispatched=self.dispatched - before.dispatched,
            looks={edge: count - before.looks[edge] for edge, count in self.looks.items()},
        )


def ask(port: int) -> Said:
    """Ask a scheduler on this machine."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=_SECONDS) as answer:
        return parsed(answer.read().decode())


def parsed(text: str) -> Said:
    """Read what it answered."""
    dispatched = 0
    looks: dict[float, int] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == _DISPATCHED:
                dispatched = int(sample.value)
            elif sample.name == _LAG:
                looks[float(sample.labels["le"])] = int(sample.value)
    return Said(dispatched=dispatched, looks=looks)


def together(some: Sequence[Said]) -> Said:
    """Add up several times."""
    return Said(
        dispatched=sum(each.dispatched for each in some),
        looks={edge: sum(each.looks[edge] for each in some) for edge in some[0].looks},
    )


def quantile_seconds(looks: Mapping[float, int], share: float) -> float:
    """Return how long so large a share of the looks took at most.

    It lies on a line between two edges, as Prometheus has it: at an edge it is exact. Beyond
    the last finite edge that edge is returned.
    """
    edges = sorted(looks)
    wanted = share * looks[edges[-1]]
    for low, high in pairwise([0.0, *edges]):
        below = looks.get(low, 0)
        if looks[high] >= wanted:
            if high == float("inf"):
                return low
            inside = looks[high] - below
            return low + (high - low) * ((wanted - below) / inside if inside else 1.0)
    return edges[-1]
