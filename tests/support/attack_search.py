"""Looks for the worst attack: by small changes to a random history, uphill.

It prints each find that is worse than all before, as Python writes it, for `worst_finds` to
keep: a seed stands for another history once `history_of` or `mutated` are changed.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import astuple, replace
from math import inf
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

PARTS = ("most", "lag", "swing", "idle")
"""What may be looked for: the largest part of the bounds, or one of them."""


def climb(draw: Random, *, steps: int, part: str = "most") -> Iterator[tuple[History, Harm]]:
    """Yield each of so many histories that is worse than all before, and what it does.

    Half of them are drawn afresh; the others are changes to the worst so far.
    """
    worst, most = _drawn(draw), -inf
    for step in range(steps):
        history = mutated(worst, draw) if step >= steps // 2 else _drawn(draw)
        found = harm(history)
        if _of(found, part) > most:
            worst, most = history, _of(found, part)
            yield history, found


def _of(found: Harm, part: str) -> float:
    return {"lag": found.lag, "swing": found.swing, "idle": found.idle}.get(part, found.most)


def _drawn(draw: Random) -> History:
    """Return a history of either kind; in half of them slots are kept for short jobs."""
    history = history_of(draw.randrange(1 << 32) + draw.choice((0, BURSTS)))
    return replace(history, keeps_slots=True) if draw.random() < 0.5 else history


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


def written(history: History) -> str:
    """Return a history as Python writes it."""
    honest = [
        f"Honest({each.lane}, {each.costs_us}, {each.from_us}, "
        f"is_quiet={each.is_quiet}, known_us={each.known_us})"
        for each in history.honest
    ]
    tactics = [f"Tactic{astuple(each)}" for each in history.tactics]
    return (
        f"History(slots={history.slots}, depth={history.depth}, "
        f"honest=({', '.join(honest)},), tactics=({', '.join(tactics)},), "
        f"weights={history.weights}, queues_share={history.queues_share}, "
        f"keeps_slots={history.keeps_slots})"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1 << 32))
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--part", choices=PARTS, default=PARTS[0])
    given = parser.parse_args()
    most = 0.0
    for found, does in climb(Random(given.seed), steps=given.steps, part=given.part):
        sys.stdout.write(f"seed {given.seed}: {does}\n{written(found)}\n")
        sys.stdout.flush()
        most = does.most
    raise SystemExit(1 if most > 1 else 0)
