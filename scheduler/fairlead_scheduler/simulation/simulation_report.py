"""A comparison in the form in which it is stored, printed and drawn.

Times are seconds, and shares are between 0 and 1.
"""

from typing import TypedDict

from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.simulation.compare import (
    Comparison,
    Prediction,
    SimulationInput,
    TenantChange,
)
from fairlead_scheduler.simulation.fleet_state import FleetState


class Side(TypedDict):
    """What one policy does for some tenants; with `is_more` the wait is a lower bound."""

    share: float
    jobs: int
    started: int
    wait_p50_seconds: float | None
    wait_p50_is_more: bool
    wait_p99_seconds: float | None
    wait_p99_is_more: bool


class Sides(TypedDict):
    """Both policies, for some tenants together."""

    tenants: int
    old: Side
    new: Side


class TenantComparison(TypedDict):
    """Both policies, for one tenant of a queue."""

    queue: str
    tenant: str
    old: Side
    new: Side


class NamedPolicy(TypedDict):
    """A policy: its number in `policy_versions`, if it is stored."""

    version: int | None
    digest: str


class SimulatedPool(TypedDict):
    """A simulated pool and its slots."""

    pool: str
    slots: int


class SimulationReport(TypedDict):
    """A comparison with its input."""

    against: str
    seed: int
    simulated_seconds: float
    slots: int
    pools: list[SimulatedPool]
    """The requested pool first, then those from or to which queues move."""
    notes: list[str]
    """Sentences about what limits the prediction."""
    old: NamedPolicy
    new: NamedPolicy
    waiting: int
    waiting_is_more: bool
    in_flight: int
    recorded: int
    known_seconds: float
    tenants: list[TenantComparison]
    other: Sides | None
    all: Sides


def build_report(
    comparison: Comparison,
    *,
    against: str,
    seed: int,
    old: CompiledPolicy,
    new: CompiledPolicy,
    state: FleetState,
    given: SimulationInput,
) -> SimulationReport:
    """Return the report of a comparison; `against` is live or recorded."""
    live = against == "live"
    return SimulationReport(
        against=against,
        seed=seed,
        simulated_seconds=comparison.until_us / 1e6,
        slots=given.fleet.all_slots,
        pools=[
            SimulatedPool(pool=pool, slots=slots)
            for pool, slots in zip(given.pools, given.fleet.by_pool, strict=True)
        ],
        notes=[*state.notes, *given.notes],
        old=_named(old),
        new=_named(new),
        waiting=state.backlog if live else 0,
        waiting_is_more=live and state.backlog_is_more,
        in_flight=len(state.rows) if live else 0,
        recorded=0 if live else len(given.jobs),
        known_seconds=state.known_us / 1e6,
        tenants=[_tenant(each) for each in comparison.lanes],
        other=None if comparison.other is None else _sides(comparison.other),
        all=_sides(comparison.total),
    )


def _named(table: CompiledPolicy) -> NamedPolicy:
    return NamedPolicy(version=table.stored or None, digest=table.digest)


def _tenant(change: TenantChange) -> TenantComparison:
    ((queue, tenant),) = change.lanes
    return TenantComparison(
        queue=queue, tenant=tenant, old=_side(change.old), new=_side(change.new)
    )


def _sides(change: TenantChange) -> Sides:
    return Sides(tenants=len(change.lanes), old=_side(change.old), new=_side(change.new))


def _side(predicted: Prediction) -> Side:
    return Side(
        share=predicted.share,
        jobs=predicted.jobs,
        started=predicted.started,
        wait_p50_seconds=None if predicted.p50 is None else predicted.p50.us / 1e6,
        wait_p50_is_more=predicted.p50 is not None and predicted.p50.more,
        wait_p99_seconds=None if predicted.p99 is None else predicted.p99.us / 1e6,
        wait_p99_is_more=predicted.p99 is not None and predicted.p99.more,
    )
