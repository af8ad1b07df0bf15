"""Weighted max-min shares, and how even they came out.

Under generalised processor sharing (Parekh and Gallager, 1993) a member that wants less than
its share gets what it wants, and the others share what is left by their weights: that is
weighted max-min fairness. Evenness is measured by the index of Jain, Chiu and Hawe (1984).
"""

from collections.abc import Sequence
from math import inf


class MaxMinShares:
    """What each member wants of one amount."""

    __slots__ = ("_modest", "_total", "_waiting")

    def __init__(self) -> None:
        self._modest: list[tuple[float, float, float]] = []
        """Finite wants: over their weights, as they are, and their weights."""
        self._total = 0.0
        self._waiting = 0.0
        """The weight of members that would take any amount."""

    @property
    def total(self) -> float:
        """What all want together; infinity if any would take any amount."""
        return inf if self._waiting else self._total

    def add(self, amount: float, weight: float) -> None:
        """Enter what a member of this weight, above 0, wants; infinity is any amount."""
        if amount == inf:
            self._waiting += weight
        else:
            self._total += amount
            self._modest.append((amount / weight, amount, weight))

    def level(self, amount: float) -> float:
        """Return what a weight of 1 gets at most; infinity if all get what they want.

        A member that wants less than an equal part of what is left is served in full, which can
        only leave more for the others: so a few rounds settle it, without a sort.
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


def max_min_shares(
    amount: float, wanted: Sequence[float], weights: Sequence[float]
) -> list[float]:
    """Share an amount by weight, giving no member more than it wants.

    Args:
        amount: What there is, at least 0.
        wanted: What each would take; infinity: any amount.
        weights: Above 0, one for each.

    The result adds up to the amount, or to all that is wanted if that is less.
    """
    shares = MaxMinShares()
    for want, weight in zip(wanted, weights, strict=True):
        shares.add(want, weight)
    level = shares.level(amount)
    return [min(want, level * weight) for want, weight in zip(wanted, weights, strict=True)]


def jain_index(values: Sequence[float]) -> float | None:
    """Return how even values are: 1 when all are equal, 1/n when one has everything.

    None for fewer than two, and when all are 0: there is nothing to compare.
    """
    squares = sum(value * value for value in values)
    if len(values) < 2 or not squares:
        return None
    return sum(values) ** 2 / (len(values) * squares)
