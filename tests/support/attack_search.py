"""Looks for the worst attack: by small changes to a random history, uphill.

A find is a tuple of numbers: the seed of the history, and that of each change which made it
worse. Numbers of finds mean something else once `drawn` or `mutated` are changed.
"""

from dataclasses import dataclass, replace
from itertools import combinations
from random import Random, SystemRandom

from tests.support.adversarial_histories import (
    COST_MAX_US,
    HINT_MAX_US,
    PATTERNS,
    SECONDS,
    History,
    Tactic,
    drawn,
)
from tests.support.attacked_fleet import MS, SECOND, outcome, play
from tests.support.fair_bound import SHARE, Flow, lag_bound_us, pair_bound_us, swing_us

Find = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Harm:
    """The worst that a history does, as parts of the bounds: more than 1 is too much."""

    lag: float
    """How far an honest lane is behind its entitlement."""
    swing: float
    """How far two backlogged honest lanes of a queue swing apart."""

    @property
    def most(self) -> float:
        """The larger of both."""
        return max(self.lag, self.swing)


def harm(history: History) -> Harm:
    """Play a history, and return what it does."""
    scene = history.scene()
    fleet = play(scene, attacked=True)
    jobs = fleet.jobs.values()
    used_us = max((job.cost_us for job in jobs if job.claimed_us is not None), default=0)
    flows = {
        lane: Flow(
            weight=scene.accounts(lane)[-1][1],
            cost_us=fleet.cost_max_us[lane],
            in_flight=fleet.in_flight_max.get(lane, 0),
        )
        for lane in scene.busy
    }
    lags = [
        (SHARE * had.entitled_us - had.held_us)
        / lag_bound_us(
            flows[lane], had, used_us=used_us, slots=history.slots, depth=history.depth
        )
        for lane, had in outcome(scene, jobs).had.items()
    ]
    swings = [
        swing_us(jobs, {lane: flows[lane].weight for lane in (one, other)})
        / pair_bound_us(flows[one], flows[other], slots=history.slots)
        for one, other in combinations(scene.busy, 2)
        if one[0] == other[0]
    ]
    return Harm(lag=max(lags), swing=max(swings, default=0.0))


def climb(draw: Random, *, steps: int) -> tuple[Find, Harm]:
    """Return the worst find of so many histories, and what it does.

    Half of them are drawn afresh; the others are changes to the worst so far.
    """
    worst: Find = (_seed(draw),)
    done = harm(replayed(worst))
    for step in range(1, steps):
        find = (*worst, _seed(draw)) if step >= steps // 2 else (_seed(draw),)
        found = harm(replayed(find))
        if found.most > done.most:
            worst, done = find, found
    return worst, done


def replayed(find: Find) -> History:
    """Return the history of a find."""
    first, *changes = find
    history = drawn(Random(first))
    for change in changes:
        history = mutated(history, Random(change))
    return history


def mutated(history: History, draw: Random) -> History:
    """Return a history with one thing changed, of the attackers or of a weight."""
    tactics = list(history.tactics)
    place = draw.randrange(len(tactics))
    what = draw.random()
    if what < 0.1:
        number = len(tactics)
        tactics += draw.choice(PATTERNS)(draw, draw.choice(("q", "r", "s")), f"more{number}")
    elif what < 0.2 and len(tactics) > 1:
        del tactics[place]
    elif what < 0.3:
        weights = list(history.weights)
        queue, tenant, weight = weights.pop(draw.randrange(len(weights)))
        weight = min(1000.0, max(0.001, weight * _factor(draw)))
        return replace(history, weights=(*weights, (queue, tenant, weight)))
    else:
        tactics[place] = _changed(tactics[place], draw)
    return replace(history, tactics=tuple(tactics))


def _changed(tactic: Tactic, draw: Random) -> Tactic:
    """Return a tactic with another number, most often one close by."""
    factor, shift_us = _factor(draw), int(draw.gauss(0, SECOND))
    match draw.randrange(6):
        case 0:
            cost_us = min(COST_MAX_US, max(1 * MS, int(tactic.cost_us * factor)))
            return replace(tactic, cost_us=cost_us)
        case 1:
            hint_us = HINT_MAX_US if tactic.hint_us is None else int(tactic.hint_us * factor**3)
            return replace(tactic, hint_us=min(HINT_MAX_US, max(1, hint_us)))
        case 2:
            return replace(tactic, hint_us=None)
        case 3:
            return replace(tactic, batch=min(1000, max(1, int(tactic.batch * factor))))
        case 4:
            return replace(tactic, every_us=max(20 * MS, int(tactic.every_us * factor)))
        case _:
            latest_us = SECONDS * SECOND - 1
            return replace(tactic, from_us=min(latest_us, max(0, tactic.from_us + shift_us)))


def _factor(draw: Random) -> float:
    return 2 ** draw.gauss(0, 1.5)


def _seed(draw: Random) -> int:
    return draw.randrange(1 << 32)


if __name__ == "__main__":
    number = SystemRandom().randrange(1 << 32)
    worst = climb(Random(number), steps=150)
    print(f"seed {number}:", *worst)  # noqa: T201 - its output is its result
