"""What unblocked lanes of a band wait for, and since when: the same for the whole band."""

from collections.abc import Sequence

from fairlead_scheduler.ordering.ledger import Ledger

BAND, CAPACITY, TURN = "band", "capacity", "turn"


def contention(*, above: bool, busy: bool) -> str:
    """Return what a band waits for: bands above it, a free slot, or other members' turns."""
    if above:
        return BAND
    return CAPACITY if busy else TURN


class Contention:
    """Since when each band has waited for what it waits for."""

    __slots__ = ("_bands",)

    def __init__(self) -> None:
        self._bands: list[tuple[str, int]] = []

    def note(self, ledgers: Sequence[Ledger], now_us: int, *, busy: bool) -> None:
        """Note the contention after a plan.

        Args:
            ledgers: Those of the bands, the one that goes first in front.
            now_us: The database's time.
            busy: Whether no slot is free for another row.
        """
        above = False
        for band, ledger in enumerate(ledgers):
            reason = contention(above=above, busy=busy)
            if band == len(self._bands):
                self._bands.append((reason, now_us))
            elif self._bands[band][0] != reason:
                self._bands[band] = (reason, now_us)
            above = above or ledger.has_waiting

    def since_us(self, band: int, reason: str, now_us: int) -> int:
        """Return since when a band has waited for this; now, if it did not before."""
        known = self._bands[band] if band < len(self._bands) else (reason, now_us)
        return known[1] if known[0] == reason else now_us
