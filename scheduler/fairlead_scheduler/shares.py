"""Who is entitled to how much, and how evenly it came out.

Under generalised processor sharing (Parekh and Gallager, 1993) whoever wants less than its
share gets what it wants, and the others share what is left by their weights: that is weighted
max-min fairness. Evenness is measured by the index of Jain, Chiu and Hawe (1984).
"""

from collections.abc import Sequence
from math import inf


class Wishes:
    """What everybody wants of one amount."""

    __slots__ = ("_modest", "_total", "_waiting")

    def __init__(self) -> None:
        self._modest: list[tuple[float, float, float]] = []
        """What those want who do not: over their weights, as it is, and their weights."""
        self._total = 0.0
        self._waiting = 0.0
        """The weight of those who would take anything."""

    @property
    def total(self) -> float:
        """What all want together; infinity if somebody would take anything."""
        return inf if self._waiting else self._total

    def add(self, amount: float, weight: float) -> None:
        """Enter what somebody of this weight, above 0, wants; infinity is anything."""
        if amount == inf:
            self._waiting += weight
        else:
            self._total += amount
            self._modest.append((amount / weight, amount, weight))

    def level(self, amount: float) -> float:
        """Return what each gets for a weight of 1 when it wants more; infinity if nobody does.

        Whoever wants less than an equal part of what is left is served in full, which can only
        leave more for the others: so a few rounds settle it, without a sort.
        """
        if amount >= self.total:
            return inf
        left, hungry = amount, self._modest
        while True:
            weight = self._waiting + sum([wish[2] for wish in hungry])
            if not weight:
                return inf
            level = max(0.0, left) / weight
            hungrier = [wish for wish in hungry if wish[0] > level]
            if len(hungrier) == len(hungry):
                return level
            left -= sum([wish[1] for wish in hungry if wish[0] <= level])
            hungry = hungrier


def entitled(amount: float, wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Share an amount by weight, giving nobody more than it wants.

    Args:
        amount: What there is, at least 0.
        wanted: What each would take; infinity: anything.
        weights: Above 0, one for each.

    The result adds up to the amount, or to all that is wanted if that is less.
    """
    wishes = Wishes()
    for want, weight in zip(wanted, weights, strict=True):
        wishes.add(want, weight)
    level = wishes.level(amount)
    return [min(want, level * weight) for want, weight in zip(wanted, weights, strict=True)]


def jain(values: Sequence[float]) -> float | None:
    """Return how even values are: 1 when all are equal, 1/n when one has everything.

    None for fewer than two, and when nobody has anything: there is nothing to compare.
    """
    squares = sum(value * value for value in values)
    if len(values) < 2 or not squares:
        return None
    return sum(values) ** 2 / (len(values) * squares)
