"""Low-water marks: where the next bounded scan of a growing table begins."""

_GAP_WAIT_US = 5_000_000
_FULL_PASS_US = 30_000_000
_TRAIL_US = 2_000_000
_OVERLAP = 2000
"""How many ids below the first that a leader takes its mark begins: some may be uncommitted."""


class ReceiptWatermark:
    """Every receipt up to the mark has been taken, except those committed late.

    Ids are drawn without gaps and become visible out of order, so the mark waits five seconds
    for a gap to fill. Receipts committed even later are found by a full scan every 30 s.
    """

    def __init__(self) -> None:
        self._after: int | None = None
        self._beyond: set[int] = set()
        self._gap_since_us: int | None = None
        self._full_pass_us = 0

    def next_after(self, now_us: int) -> int:
        """Return the id to read above now; zero when a full scan is due, then taken as done."""
        if now_us - self._full_pass_us >= _FULL_PASS_US:
            self._full_pass_us = now_us
            return 0
        return self._after or 0

    def record_taken(self, ids: list[int], now_us: int) -> None:
        """Record that these have been taken, in ascending order."""
        if self._after is None:
            if not ids:
                return
            self._after = max(0, ids[0] - 1 - _OVERLAP)
        self._beyond.update(job_id for job_id in ids if job_id > self._after)
        self._advance()
        if not self._beyond:
            self._gap_since_us = None
        elif self._gap_since_us is None:
            self._gap_since_us = now_us
        elif now_us - self._gap_since_us >= _GAP_WAIT_US:
            self._after = min(self._beyond) - 1
            self._gap_since_us = None
            self._advance()

    def _advance(self) -> None:
        after = self._after or 0
        while after + 1 in self._beyond:
            after += 1
            self._beyond.remove(after)
        self._after = after


class LowWatermark:
    """Where the next scan of a time index begins: everything below it has been processed.

    It trails the last scan by two seconds, because rows become visible late; it may be lowered
    for a row that is known to lie below it; and every 30 s one scan begins at zero.
    """

    def __init__(self) -> None:
        self._mark_us = 0
        self._looked_us = 0
        self._full_pass_us = 0

    @property
    def reached_us(self) -> int:
        """The instant below which no row is known to be left."""
        return self._mark_us

    def begin(self) -> int:
        """Return the instant to scan from now."""
        if self._looked_us - self._full_pass_us >= _FULL_PASS_US:
            return 0
        return self._mark_us

    def lower(self, instant_us: int) -> None:
        """Scan from this instant at the latest, because a row lies there."""
        self._mark_us = min(self._mark_us, instant_us)

    def record_scan(self, from_us: int, now_us: int, *, reached_us: int | None = None) -> None:
        """Record a scan.

        Args:
            from_us: What `begin` returned for it.
            now_us: The database's time.
            reached_us: How far the scan came, if it stopped before the end.
        """
        self._looked_us = now_us
        if reached_us is not None:
            self._mark_us = reached_us if from_us else min(self._mark_us, reached_us)
        else:
            self._mark_us = now_us - _TRAIL_US
            if not from_us:
                self._full_pass_us = now_us
