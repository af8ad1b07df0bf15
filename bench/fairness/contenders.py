"""Who takes part, and under which conditions: `policy` or `policy@conditions`.

Conditions are `product`, the latencies and the depth of the product; `direct`, a round trip
for each claim and nobody between jobs and workers, as in a queue without a scheduler; or a
number: no latency at all, and so many rows that wait for workers beside the free slots.
Reference policies are played with `@0`, at their best: they decide in the moment of the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.fairness.fairlead import Fairlead
from bench.fairness.ideal import Offline
from bench.fairness.policy import Policy
from bench.fairness.references import Fifo, LeastInFlight, RoundRobin, Stride
from bench.fairness.sqs import SqsRules
from bench.fairness.weights import Edit, Rules, Weights
from fairlead_scheduler.simulation import product
from fairlead_scheduler.simulation.fleet import Fleet
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
    """There is no such contender; the message names those there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """What a policy may know before it starts; only the ideal looks at the trace."""

    trace: Sequence[Arrival]
    weights: Weights
    slots: int
    until_us: int
    edits: tuple[Edit, ...] = ()
    rules: Rules = field(default_factory=dict[str, object])
    """What only Fairlead heeds."""


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
    """A policy with the conditions that it is played under."""

    name: str
    fleet: Fleet

    def policy(self, race: Race) -> Policy | Fairlead:
        """Make the policy anew."""
        return _POLICIES[self.name.partition("@")[0]](race)


def contender(name: str, slots: int) -> Contender:
    """Return the contender of this name, with so many slots.

    Raises:
        UnknownContenderError: There is no such policy or condition.
    """
    policy, _, conditions = name.partition("@")
    if policy not in _POLICIES:
        raise UnknownContenderError(f"no policy {policy!r}: there are {', '.join(_POLICIES)}")
    if not conditions:
        conditions = "product" if policy == FAIRLEAD else "0"
    if conditions == "product":
        fleet = product.fleet(slots)
    elif conditions == "direct":
        fleet = Fleet(slots=slots, claim_us=product.ROUND_TRIP_US)
    elif conditions.isdecimal():
        fleet = Fleet(slots=slots, depth=int(conditions))
    else:
        raise UnknownContenderError(
            f"no conditions {conditions!r} in {name!r}: give product, direct or how many rows"
        )
    return Contender(name=name, fleet=fleet)
