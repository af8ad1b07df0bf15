"""The bounds of the fair order: how far lanes may be apart, and how far behind a fluid.

They are stated here once; docs/explanation/fair-order.md says why they hold.
"""

from collections import Counter
from collections.abc import Collection, Container, Iterable
from dataclasses import dataclass
from itertools import pairwise

from fairlead_scheduler.policy.settings import FairSettings
from tests.support.entitlements import Had
from tests.support.fleet import Job, Key

SHARE = 0.95
"""Of its entitlement, which an honest tenant has at least in the long run."""
NAMES_AT_ONCE = 15
"""So many first turns names may have beyond their rate, once."""
UNKNOWN_US = 500_000
"""For so long all are unknown after a take-over."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What the bounds know of a lane."""

    weight: float
    cost_us: int
    """The cost of its costliest job, or its largest charge if that was more."""
    in_flight: int
    """The most jobs that it had in `work_queue` at once."""

    @property
    def turn_us(self) -> int:
        """How far it may run ahead or behind by itself, in slot-microseconds."""
        return (1 + self.in_flight) * self.cost_us


@dataclass(frozen=True, slots=True)
class Others:
    """What the bounds know of those that share a level."""

    used_us: int
    """How long their jobs run at most."""
    rows: int
    """How many jobs they may have in `work_queue` together."""
    names: Collection[Job]
    """What ran of names that were made up for single jobs."""


def pair_bound_us(one: Flow, other: Flow, *, slots: int, lied_us: int = 0) -> float:
    """Return how far two backlogged lanes of one queue may be apart, per weight.

    Beside their turns it has what the cap may set one of them back for one refresh. Beside a
    lane that waits because of its own claims V stands still while its jobs run, for up to
    `lied_us`: whoever has the slots meanwhile may be as far ahead of one that comes then.
    """
    settings = FairSettings()
    cap = settings.inflight_share_cap * slots / (one.weight + other.weight)
    turns_us = one.turn_us / one.weight + other.turn_us / other.weight
    left_us = slots * lied_us / min(one.weight, other.weight)
    return turns_us + cap * settings.refresh_us + left_us


def lag_bound_us(flow: Flow, had: Had, others: Others) -> float:
    """Return how far an account may be behind its entitlement at its level, in slot-us.

    Others may have every slot and row when it begins to wait. Of that it lacks its part, as of
    what names may have at once: some first turns, and all slots in the first moments. Twice,
    because what jobs are charged at first may be as far from the truth.
    """
    if not had.beside_us:
        return 2 * flow.turn_us
    costs_us: dict[tuple[str, str], int] = {}
    for job in others.names:
        spray = (job.lane[0].partition("-")[0], job.lane[1].partition("-")[0])
        costs_us[spray] = max(job.cost_us, costs_us.get(spray, 0))
    ahead_us: float = others.rows * others.used_us + NAMES_AT_ONCE * sum(costs_us.values())
    if min([job.arrived_us for job in others.names], default=UNKNOWN_US) < UNKNOWN_US:
        ahead_us += UNKNOWN_US * had.beside_us / had.backlogged_us
    return 2 * (flow.turn_us + ahead_us * had.entitled_us / had.beside_us)


def swing_us(jobs: Iterable[Job], weights: dict[Key, float]) -> float:
    """Return how far two lanes swing apart while both have jobs that wait, per weight.

    It knows claims and endings alone.
    """
    changes: dict[int, list[tuple[Key, int, int]]] = {}
    for job in jobs:
        if job.lane in weights:
            changes.setdefault(job.arrived_us, []).append((job.lane, 1, 0))
            if job.claimed_us is not None:
                changes.setdefault(job.claimed_us, []).append((job.lane, -1, 1))
            if job.ended_us is not None:
                changes.setdefault(job.ended_us, []).append((job.lane, 0, -1))
    waiting, running = dict.fromkeys(weights, 0), dict.fromkeys(weights, 0)
    gap = lowest = highest = swing = 0.0
    for now_us, next_us in pairwise(sorted(changes)):
        for lane, waits, runs in changes[now_us]:
            waiting[lane] += waits
            running[lane] += runs
        if not all(waiting.values()):
            gap = lowest = highest = 0.0
            continue
        one, other = (running[lane] / weight for lane, weight in weights.items())
        gap += (one - other) * (next_us - now_us)
        lowest, highest = min(lowest, gap), max(highest, gap)
        swing = max(swing, highest - lowest)
    return swing


def idle_us(jobs: Collection[Job], honest: Container[Key], *, slots: int) -> int:
    """Return for how long slots were free that jobs of honest lanes waited for."""
    changes = Counter[tuple[int, bool]]()
    for job in jobs:
        if job.lane in honest:
            changes[job.arrived_us, False] += 1
        if job.claimed_us is not None:
            changes[job.claimed_us, False] -= job.lane in honest
            changes[job.claimed_us, True] += 1
        if job.ended_us is not None:
            changes[job.ended_us, True] -= 1
    waiting = running = idle = before_us = 0
    for (now_us, runs), change in sorted(changes.items()):
        idle += min(waiting, slots - running) * (now_us - before_us)
        before_us = now_us
        if runs:
            running += change
        else:
            waiting += change
    return idle


def idle_bound_us(
    jobs: Collection[Job], honest: Container[Key], *, slots: int, tick_us: int
) -> int:
    """Return for how long they may be free: a tick after each ending and each arrival."""
    arrived = Counter(job.arrived_us for job in jobs if job.lane in honest)
    ended = sum(job.ended_us is not None for job in jobs)
    return tick_us * (ended + sum(min(slots, count) for count in arrived.values()))
