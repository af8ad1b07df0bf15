"""Scenes on a fleet in memory: honest tenants, one that may attack them, and the outcome."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import quantiles

from fairlead.policy import parse
from fairlead_scheduler.policy.compiled import compile_policy
from tests.support.entitlements import Accounts, Had, Job, Path, entitlements
from tests.support.fleet import Fleet, Key

MS, SECOND = 1000, 1_000_000
SLOTS, DEPTH = 20, 8
"""Of every scene that says nothing else."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job that is inserted."""

    at_us: int
    lane: Key
    cost_us: int
    hint_us: int | None = None
    priority: int = 0
    account: str = ""
    """What a concurrency key may find in its payload."""


Arrivals = tuple[Arrival, ...]


def by_queue(lane: Key) -> Path:
    """Return the account where queues share the slots, and tenants those of their queue."""
    return ((lane[0], 1.0), (lane[1], 1.0))


def by_tenant(lane: Key) -> Path:
    """Return the account where a tenant has one share, in however many queues and bands."""
    return ((lane[1], 1.0),)


def by_login(lane: Key) -> Path:
    """Return the account where the tenants of one login have one share: `login-tenant`."""
    return ((lane[1].partition("-")[0], 1.0),)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """An attack, and those at whom it is aimed."""

    seconds: int
    slots: int = SLOTS
    depth: int = DEPTH
    ahead: int = 0
    """How many jobs workers claim beyond their slots."""
    tick_us: int = 20 * MS
    honest: Arrivals
    attack: Arrivals
    truth: Arrivals = ()
    """The attacker's work as an honest tenant would insert it."""
    busy: tuple[Key, ...] = ()
    """Honest lanes that are to have their shares."""
    quiet: tuple[Key, ...] = ()
    """Honest lanes that are not to wait."""
    accounts: Accounts = by_queue
    policy: Mapping[str, object] = field(default_factory=dict[str, object])
    """The policy document."""


@dataclass(frozen=True)
class Outcome:
    """What came of a scene."""

    had: dict[Key, Had]
    """What the busy lanes had."""
    waits_us: tuple[int, ...]
    """How long each job of a quiet lane waited; until the end for one that waits still."""

    @property
    def share(self) -> float:
        """The smallest share that a busy lane had of its entitlement."""
        return min((had.share for had in self.had.values()), default=1.0)

    @property
    def without_us(self) -> int:
        """The longest time that a busy lane was without a slot."""
        return max((had.without_us for had in self.had.values()), default=0)

    def wait_us(self, percent: int) -> float:
        """Return this percentile of the quiet lanes' waits."""
        return quantiles(self.waits_us, n=100)[percent - 1] if self.waits_us else 0.0


def play(scene: Scene, *, attacked: bool) -> Fleet:
    """Return a fleet at the end of a scene, with the attack or with the truth."""
    table = compile_policy(parse(json.dumps(scene.policy)))
    fleet = Fleet(slots=scene.slots, depth=scene.depth, tick_us=scene.tick_us, table=table)
    fleet.ahead = scene.ahead
    for each in (*scene.honest, *(scene.attack if attacked else scene.truth)):
        fleet.arrive(
            each.at_us,
            *each.lane,
            each.cost_us,
            rank=-each.priority,
            hint_us=each.hint_us,
            fields={"payload.account": each.account} if each.account else None,
        )
    fleet.run(scene.seconds * SECOND)
    return fleet


def outcome(scene: Scene, jobs: Iterable[Job]) -> Outcome:
    """Return what came of a scene, from when each job arrived, was claimed and ended."""
    jobs = list(jobs)
    until_us = scene.seconds * SECOND
    honest = dict.fromkeys(each.lane for each in scene.honest)
    had = entitlements(jobs, scene.accounts, honest, slots=scene.slots, until_us=until_us)
    return Outcome(
        had={lane: had[lane] for lane in scene.busy},
        waits_us=tuple(
            (until_us if job.claimed_us is None else job.claimed_us) - job.arrived_us
            for job in jobs
            if job.lane in scene.quiet
        ),
    )
