"""What a history of attackers does to honest tenants, as parts of the bounds.

It is held level by level: queues to what they are entitled to of all slots, and lanes to what
they are entitled to of what their queue had. Otherwise whatever a queue lacks for a while would
be owed to its honest lanes alone, since others are entitled to what they used at that time.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import combinations

from tests.support.adversarial_histories import NEWCOMERS, History
from tests.support.attacked_fleet import SECOND, Scene, play
from tests.support.entitlements import Had, entitlements
from tests.support.fair_bound import (
    SHARE,
    Flow,
    Others,
    idle_bound_us,
    idle_us,
    lag_bound_us,
    pair_bound_us,
    swing_us,
)
from tests.support.fleet import Fleet, Job, Key


@dataclass(frozen=True, slots=True)
class Harm:
    """The worst that a history does, as parts of the bounds: more than 1 is too much."""

    lag: float
    """How far an honest lane or its queue is behind its entitlement."""
    swing: float
    """How far two backlogged honest lanes of a queue swing apart."""
    idle: float
    """For how long slots are free while honest jobs wait."""

    @property
    def most(self) -> float:
        """The largest of them."""
        return max(self.lag, self.swing, self.idle)


def harm(history: History) -> Harm:
    """Play a history, and return what it does."""
    scene = history.scene()
    fleet = play(scene, attacked=True)
    jobs = fleet.jobs.values()
    honest = {each.lane for each in scene.honest}
    return Harm(
        lag=max(_lags(scene, fleet)),
        swing=max(_swings(history, scene, fleet), default=0.0),
        idle=idle_us(jobs, honest, slots=scene.slots)
        / idle_bound_us(jobs, honest, slots=scene.slots, tick_us=scene.tick_us),
    )


def _lags(scene: Scene, fleet: Fleet) -> Iterator[float]:
    """Yield how far queues of busy lanes are behind, and these lanes in their queues.

    Where queues share there are lanes alone, each of which is its tenant's only one.
    """
    for account in held(scene, fleet):
        lag_us = SHARE * account.had.entitled_us - account.had.held_us
        yield lag_us / lag_bound_us(account.flow, account.had, account.others)


@dataclass(frozen=True, slots=True)
class Account:
    """An honest account of one level."""

    flow: Flow
    had: Had
    others: Others


def held(scene: Scene, fleet: Fleet) -> list[Account]:
    """Return what accounts of busy lanes had, level by level."""
    jobs = fleet.jobs.values()
    if len(scene.accounts(scene.busy[0])) == 1:
        all_honest = dict.fromkeys(each.lane for each in scene.honest)
        had, others = _had(scene, jobs, all_honest, level=0), _others(scene, fleet)
        return [Account(_flow(lane, scene, fleet), had[lane], others) for lane in scene.busy]
    queues = dict.fromkeys(queue for queue, _ in scene.busy)
    among = _had(scene, jobs, [(queue, "") for queue in queues], level=0)
    others = _others(scene, fleet)
    found = [
        Account(_queue_flow(queue, scene, fleet), among[queue, ""], others) for queue in queues
    ]
    for queue in queues:
        honest = dict.fromkeys(each.lane for each in scene.honest if each.lane[0] == queue)
        there = [job for job in jobs if job.queue == queue]
        own, others = _had(scene, there, honest, level=1), _others(scene, fleet, queue)
        busy = [lane for lane in scene.busy if lane[0] == queue]
        found += [Account(_flow(lane, scene, fleet), own[lane], others) for lane in busy]
    return found


def _others(scene: Scene, fleet: Fleet, queue: str | None = None) -> Others:
    """Return who shares a queue, or all slots."""
    level = 0 if queue is None else 1
    ran = [
        job
        for job in fleet.jobs.values()
        if job.claimed_us is not None and queue in (None, job.queue)
    ]
    is_new = {
        lane: scene.accounts(lane)[level][0].startswith(NEWCOMERS)
        for lane in {job.lane for job in ran}
    }
    return Others(
        used_us=max((job.cost_us for job in ran), default=0),
        rows=scene.slots + scene.depth if queue is None else _rows(queue, scene, fleet),
        names=tuple(job for job in ran if is_new[job.lane]),
    )


def _rows(queue: str, scene: Scene, fleet: Fleet) -> int:
    """Return how many jobs of a queue there were in `work_queue` at most."""
    in_flight = [most for lane, most in fleet.in_flight_max.items() if lane[0] == queue]
    return min(scene.slots + scene.depth, sum(in_flight))


def _had(
    scene: Scene, jobs: Collection[Job], honest: Collection[Key], *, level: int
) -> dict[Key, Had]:
    """Return what accounts of one level had of what these jobs used."""
    return entitlements(
        jobs,
        lambda lane: scene.accounts(lane)[level : level + 1],
        honest,
        slots=None,
        until_us=scene.seconds * SECOND,
    )


def _swings(history: History, scene: Scene, fleet: Fleet) -> Iterator[float]:
    """Yield how far two busy lanes of a queue swing apart, or of queues that share."""
    jobs = fleet.jobs.values()
    share = len(scene.accounts(scene.busy[0])) == 1
    for one, other in combinations(scene.busy, 2):
        if share or one[0] == other[0]:
            flows = {lane: _flow(lane, scene, fleet) for lane in (one, other)}
            begun = [(each.from_us, each.lane) for each in history.honest if each.lane in flows]
            lies = [x for x in jobs if (share or x.queue == one[0]) and _has_lied(x)]
            lied_us = max([job.cost_us for job in lies], default=0)
            bound_us = pair_bound_us(*flows.values(), slots=scene.slots, lied_us=lied_us)
            bound_us += _passed_us(
                scene, [x for x in jobs if share or x.queue == one[0]], begun
            )
            yield swing_us(jobs, {lane: x.weight for lane, x in flows.items()}) / bound_us


def _passed_us(
    scene: Scene, jobs: Collection[Job], begun: Collection[tuple[int, Key]]
) -> float:
    """Return how far jobs of others may move V after the first lane begins to wait.

    They were in flight then, and run until the second one begins, with tags of V.
    """
    (first_us, first), (second_us, second) = sorted(begun)
    others = sorted(
        (job.claimed_us, job.ended_us or second_us, job.lane)
        for job in jobs
        if job.lane not in (first, second)
        and job.claimed_us is not None
        and job.claimed_us < second_us
        and (job.ended_us or second_us) > first_us
    )[: scene.slots + scene.depth]
    weights = [scene.accounts(lane)[-1][1] for lane in (first, *(x[-1] for x in others))]
    served_us = sum(min(end, second_us) - max(at, first_us) for at, end, _ in others)
    return served_us / (weights[0] + min(weights[1:])) if others else 0.0


def _has_lied(job: Job) -> bool:
    """Whether a job ran that claimed more than it takes."""
    return job.claimed_us is not None and (job.hint_us or 0) > job.cost_us


def _flow(lane: Key, scene: Scene, fleet: Fleet) -> Flow:
    return Flow(
        weight=scene.accounts(lane)[-1][1],
        cost_us=fleet.cost_max_us[lane],
        in_flight=fleet.in_flight_max.get(lane, 0),
    )


def _queue_flow(queue: str, scene: Scene, fleet: Fleet) -> Flow:
    """Return a queue's flow: it is charged by what jobs took, not by what they claim."""
    return Flow(
        weight=scene.accounts((queue, ""))[0][1],
        cost_us=max(
            *(fleet.cost_max_us[each.lane] for each in scene.honest if each.lane[0] == queue),
            2 * max(job.cost_us for job in fleet.jobs.values() if job.queue == queue),
        ),
        in_flight=_rows(queue, scene, fleet),
    )
