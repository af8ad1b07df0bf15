"""Looks for the worst attack: by small changes to a random history, uphill.

A find is a tuple of numbers: the seed of the history, and that of each change which made it
worse. Numbers of finds mean something else once `history_of` or `mutated` are changed.
"""

import argparse
from dataclasses import replace
from random import Random, SystemRandom

from tests.support.adversarial_histories import (
    BURSTS,
    COST_MAX_US,
    HINT_MAX_US,
    PATTERNS,
    SECONDS,
    History,
    Tactic,
    history_of,
)
from tests.support.attacked_fleet import MS, SECOND
from tests.support.harm import Harm, harm

Find = tuple[int, ...]


def climb(draw: Random, *, steps: int) -> tuple[Find, Harm]:
    """Return the worst find of so many histories, and what it does.

    Half of them are drawn afresh; the others are changes to the worst so far.
    """
    worst: Find = ()
    done = Harm(lag=0.0, swing=0.0, idle=0.0)
    for step in range(steps):
        base: Find = worst if step >= steps // 2 else ()
        seed = _seed(draw)
        find: Find = (*base, seed if base else seed + _kind(draw))
        found = harm(replayed(find))
        if found.most > done.most:
            worst, done = find, found
    return worst, done


def replayed(find: Find) -> History:
    """Return the history of a find."""
    first, *changes = find
    history = history_of(first)
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


def _kind(draw: Random) -> int:
    return draw.choice((0, BURSTS))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1 << 32))
    parser.add_argument("--steps", type=int, default=150)
    given = parser.parse_args()
    found, worst = climb(Random(given.seed), steps=given.steps)
    print(f"seed {given.seed}:", found, worst)  # noqa: T201 - its output is its result
    raise SystemExit(1 if worst.most > 1 else 0)
