"""What those wait for that nothing holds back, and since when: the same for a whole band."""

from collections.abc import Sequence

from fairlead_scheduler.ledger import Ledger

BAND, CAPACITY, TURN = "band", "capacity", "turn"


def crowd(*, above: bool, busy: bool) -> str:
    """Return what a band waits for: those above it, a free slot, or its members for others."""
    if above:
        return BAND
    return CAPACITY if busy else TURN


def waits(ledger: Ledger) -> bool:
    """Whether somebody of a band waits for service, or a row for a worker."""
    return ledger.root.active > 0 or ledger.unclaimed > 0


class Crowding:
    """Since when each band has waited for what it waits for."""

    __slots__ = ("_bands",)

    def __init__(self) -> None:
        self._bands: list[tuple[str, int]] = []

    def note(self, ledgers: Sequence[Ledger], now_us: int, *, busy: bool) -> None:
        """Note how it is after a plan.

        Args:
            ledgers: The books of the bands, the one that goes first in front.
            now_us: The database's time.
            busy: Whether no slot is free for another row.
        """
        above = False
        for band, ledger in enumerate(ledgers):
            reason = crowd(above=above, busy=busy)
            if band == len(self._bands):
                self._bands.append((reason, now_us))
            elif self._bands[band][0] != reason:
                self._bands[band] = (reason, now_us)
            above = above or waits(ledger)

    def since_us(self, band: int, reason: str, now_us: int) -> int:
        """Return since when a band has waited for this: now, if it did not before."""
        known = self._bands[band] if band < len(self._bands) else (reason, now_us)
        return known[1] if known[0] == reason else now_us
