"""What a comparison says, in the form in which it is stored, printed and drawn.

Times are seconds, and shares are between 0 and 1.
"""

from typing import TypedDict

from fairlead_scheduler.simulation.comparison import Change, Comparison, Predicted
from fairlead_scheduler.simulation.scene import Scene
from fairlead_scheduler.simulation.situation import Situation
from fairlead_scheduler.terms import Table


class Side(TypedDict):
    """What one policy does for some tenants; `is_more`: the wait is at least that long."""

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


class Tenant(TypedDict):
    """Both policies, for one tenant of a queue."""

    queue: str
    tenant: str
    old: Side
    new: Side


class Named(TypedDict):
    """A policy: its number in `policy_versions`, if it is stored."""

    version: int | None
    digest: str


class Pool(TypedDict):
    """A pool that is played, with the slots that it has."""

    pool: str
    slots: int


class Report(TypedDict):
    """A comparison with what it is of."""

    against: str
    seed: int
    simulated_seconds: float
    slots: int
    pools: list[Pool]
    """The one that was asked for first; the others are those from or to which queues move."""
    notes: list[str]
    """What is to be known of the prediction, in sentences."""
    old: Named
    new: Named
    waiting: int
    waiting_is_more: bool
    in_flight: int
    recorded: int
    known_seconds: float
    tenants: list[Tenant]
    other: Sides | None
    all: Sides


def report(
    comparison: Comparison,
    *,
    against: str,
    seed: int,
    old: Table,
    new: Table,
    situation: Situation,
    scene: Scene,
) -> Report:
    """Return what a comparison says; `against` is live or recorded."""
    live = against == "live"
    return Report(
        against=against,
        seed=seed,
        simulated_seconds=comparison.until_us / 1e6,
        slots=scene.fleet.all_slots,
        pools=[
            Pool(pool=pool, slots=slots)
            for pool, slots in zip(scene.pools, scene.fleet.by_pool, strict=True)
        ],
        notes=[*situation.notes, *scene.notes],
        old=_named(old),
        new=_named(new),
        waiting=situation.backlog if live else 0,
        waiting_is_more=live and situation.backlog_is_more,
        in_flight=len(situation.rows) if live else 0,
        recorded=0 if live else len(scene.jobs),
        known_seconds=situation.known_us / 1e6,
        tenants=[_tenant(each) for each in comparison.lanes],
        other=None if comparison.other is None else _sides(comparison.other),
        all=_sides(comparison.whole),
    )


def _named(table: Table) -> Named:
    return Named(version=table.stored or None, digest=table.digest)


def _tenant(change: Change) -> Tenant:
    ((queue, tenant),) = change.lanes
    return Tenant(queue=queue, tenant=tenant, old=_side(change.old), new=_side(change.new))


def _sides(change: Change) -> Sides:
    return Sides(tenants=len(change.lanes), old=_side(change.old), new=_side(change.new))


def _side(told: Predicted) -> Side:
    return Side(
        share=told.share,
        jobs=told.jobs,
        started=told.started,
        wait_p50_seconds=None if told.p50 is None else told.p50.us / 1e6,
        wait_p50_is_more=told.p50 is not None and told.p50.more,
        wait_p99_seconds=None if told.p99 is None else told.p99.us / 1e6,
        wait_p99_is_more=told.p99 is not None and told.p99.more,
    )
