"""The contenders and their conditions: `policy` or `policy@conditions`.

Conditions are `product`, the latencies and the depth of the product; `direct`, a round trip per
claim and no scheduler between jobs and workers; or a number: no latency at all, and that many
unclaimed rows in addition to the free slots. Reference policies run with `@0`, their best case:
they decide at the moment of the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.fairness.contenders.fairlead import Fairlead
from bench.fairness.contenders.ideal import Offline
from bench.fairness.contenders.policy import Policy
from bench.fairness.contenders.references import Fifo, LeastInFlight, RoundRobin, Stride
from bench.fairness.contenders.sqs import SqsRules
from bench.fairness.traffic.weights import Edit, Rules, Weights
from fairlead_scheduler.simulation.engine import (
    ROUND_TRIP_US,
    SimulatedFleet,
    default_fleet,
)
from fairlead_scheduler.simulation.trace import Arrival

FAIRLEAD = "fairlead"
IDEAL = "ideal"
REAL = "on PostgreSQL"
"""Fairlead itself, not simulated."""
ALWAYS = (
    FAIRLEAD,
    "fairlead@0",
    "fifo",
    "round-robin",
    "stride",
    "least-in-flight",
    "sqs",
    IDEAL,
)


class UnknownContenderError(ValueError):
    """No such contender; the message lists the existing ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """What a policy may know before it starts; only the ideal reads the trace."""

    trace: Sequence[Arrival]
    weights: Weights
    slots: int
    until_us: int
    edits: tuple[Edit, ...] = ()
    rules: Rules = field(default_factory=dict[str, object])
    """Rules that only Fairlead applies."""


def _ideal(race: Race) -> Policy:
    return Offline(race.trace, race.weights, race.slots, race.until_us)


_POLICIES: Mapping[str, Callable[[Race], Policy | Fairlead]] = {
    FAIRLEAD: lambda race: Fairlead(race.weights, race.rules, race.trace),
    "fifo": lambda _: Fifo(),
    "round-robin": lambda _: RoundRobin(),
    "stride": lambda race: Stride(race.weights),
    "least-in-flight": lambda race: LeastInFlight(race.weights),
    "sqs": lambda _: SqsRules(),
    IDEAL: _ideal,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A policy and the conditions it runs under."""

    name: str
    fleet: SimulatedFleet

    def policy(self, race: Race) -> Policy | Fairlead:
        """Return a new instance of the policy."""
        return _POLICIES[self.name.partition("@")[0]](race)


def contender(name: str, slots: int) -> Contender:
    """Return the contender of this name, with this many slots.

    Raises:
        UnknownContenderError: There is no such policy or condition.
    """
    policy, _, conditions = name.partition("@")
    if policy not in _POLICIES:
        raise UnknownContenderError(f"no policy {policy!r}: there are {', '.join(_POLICIES)}")
    if not conditions:
        conditions = "product" if policy == FAIRLEAD else "0"
    if conditions == "product":
        fleet = default_fleet(slots)
    elif conditions == "direct":
        fleet = SimulatedFleet(slots=slots, claim_us=ROUND_TRIP_US)
    elif conditions.isdecimal():
        fleet = SimulatedFleet(slots=slots, depth=int(conditions))
    else:
        raise UnknownContenderError(
            f"no conditions {conditions!r} in {name!r}: give product, direct or how many rows"
        )
    return Contender(name=name, fleet=fleet)
