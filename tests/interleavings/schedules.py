"""Every order of the steps of a few sides, one after another: pure, by what a run has met.

How many steps a side has, and when it waits for another, is known only while it runs. So a run
follows a prefix of choices, then lets each side go on while it can, and notes who could go.
The next prefix is the last run's with its last choice changed that can be.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

NAMES = "ABC"


class Choice(NamedTuple):
    """Which sides could go at one point of a run, and which one went.

    The order is that in which they are tried: the one that went last, if it can, comes first.
    """

    enabled: tuple[int, ...]
    taken: int


def next_prefix(
    choices: Sequence[Choice], *, alike: bool = False, switches_max: int | None = None
) -> tuple[int, ...] | None:
    """Return the choices with which the next run begins; None: there is no other one.

    Args:
        choices: those of the last run.
        alike: all sides do the same, so that the first step is the first side's.
        switches_max: how often a run leaves a side that could go on, at most; None: no bound.
    """
    for place in range(len(choices) - 1, 0 if alike else -1, -1):
        enabled, taken = choices[place]
        for other in enabled[enabled.index(taken) + 1 :]:
            changed = (*choices[:place], Choice(enabled, other))
            if switches_max is None or switches(changed) <= switches_max:
                return tuple(choice.taken for choice in changed)
    return None


def switches(choices: Sequence[Choice]) -> int:
    """Return how often a run left a side that could have gone on."""
    return sum(
        before.taken != after.taken and before.taken in after.enabled
        for before, after in pairwise(choices)
    )


def written(taken: Sequence[int]) -> str:
    """Return choices as letters."""
    return "".join(NAMES[each] for each in taken)


def read(letters: str) -> tuple[int, ...]:
    """Return the choices that letters say."""
    return tuple(NAMES.index(each) for each in letters)
