"""A scheduler's `/metrics`: jobs dispatched, how long ticks took, and tenants' shares."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

_SECONDS = 5.0
_LAG = "fairlead_scheduler_lag_seconds_bucket"
_DISPATCHED = "fairlead_scheduler_dispatched_total"
_SHARE = "fairlead_tenant_share"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Counts since the scheduler's start."""

    dispatched: int
    ticks: Mapping[float, int]
    """Upper bound in seconds to the number of ticks that took at most that, from due to end."""

    def since(self, before: Counters) -> Counters:
        """Return the difference to an earlier reading."""
        return Counters(
            dispatched=self.dispatched - before.dispatched,
            ticks={edge: count - before.ticks[edge] for edge, count in self.ticks.items()},
        )


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    assert isinstance(port, int)
    return port


def ask(port: int) -> Counters:
    """Read the metrics of a scheduler on this machine."""
    return parsed(_page(port))


def shares(port: int) -> dict[str, float]:
    """Read what tenants were charged in the last minute, as shares of the whole."""
    return {
        sample.labels["tenant"]: sample.value
        for family in text_string_to_metric_families(_page(port))
        for sample in family.samples
        if sample.name == _SHARE
    }


def _page(port: int) -> str:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=_SECONDS) as answer:
        return bytes(answer.read()).decode()


def parsed(text: str) -> Counters:
    """Parse a metrics page."""
    dispatched = 0
    ticks: dict[float, int] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == _DISPATCHED:
                dispatched = int(sample.value)
            elif sample.name == _LAG:
                ticks[float(sample.labels["le"])] = int(sample.value)
    return Counters(dispatched=dispatched, ticks=ticks)


def together(some: Sequence[Counters]) -> Counters:
    """Return the sum of several readings."""
    return Counters(
        dispatched=sum(each.dispatched for each in some),
        ticks={edge: sum(each.ticks[edge] for each in some) for edge in some[0].ticks},
    )


def quantile_seconds(ticks: Mapping[float, int], share: float) -> float:
    """Return this quantile of the durations of ticks.

    It is interpolated linearly between two bucket bounds, as Prometheus does; at a bound it is
    exact. Beyond the last finite bound that bound is returned.
    """
    edges = sorted(ticks)
    wanted = share * ticks[edges[-1]]
    for low, high in pairwise([0.0, *edges]):
        below = ticks.get(low, 0)
        if ticks[high] >= wanted:
            if high == float("inf"):
                return low
            inside = ticks[high] - below
            return low + (high - low) * ((wanted - below) / inside if inside else 1.0)
    return edges[-1]
