"""What each lane was served in the report's window, and was entitled to, by buckets."""

from fairlead_scheduler.limits.blocked_reasons import FULL, PAUSED, REASONS, RESERVE
from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.report.snapshot import LedgerSnapshot

BUCKETS = 12
"""Spans between two snapshots that make up the window."""


class LaneWindow:
    """What one lane was served in the window, and was entitled to."""

    __slots__ = (
        "_counted_us",
        "_entitled_us",
        "_oldest_us",
        "_served_us",
        "blocked_by",
        "blocked_us",
        "entitled_us",
        "fresh_us",
        "lane",
        "pending_us",
        "served_us",
        "size_us",
        "wait_us",
        "waited",
    )

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self._served_us = [0] * BUCKETS
        self._entitled_us = [0] * BUCKETS
        self._counted_us = 0
        """Run time of running jobs that has been counted."""
        self.served_us = 0
        """In the window."""
        self.entitled_us = 0
        self.size_us = 0
        """The larger of these."""
        self.fresh_us = 0
        """Served between the last two snapshots."""
        self.waited = False
        """Whether it would have taken any amount then."""
        self.pending_us: int | None = None
        """The first snapshot, of those without a break, that found something pending."""
        self.blocked_by: str | None = None
        self.blocked_us = 0
        """The first snapshot, of those without a break, with this reason."""
        self._oldest_us: int | None = None
        """Since when the oldest job waits, as far as it is known."""
        self.wait_us: int | None = None
        """How long the oldest job has waited; None where no job waits."""

    @property
    def is_idle(self) -> bool:
        """Whether it was served nothing in the window, and has no job."""
        return not (self.size_us or self.lane.in_flight or self.lane.heads.stream is not None)

    def waits_since(self, since_us: int) -> bool:
        """Whether its lane has waited for service ever since, kept from slots or not."""
        lane = self.lane
        waits = lane.active or lane.blocked_by == RESERVE
        return waits and lane.waits_since_us <= since_us

    def begin(self, running_us: int) -> None:
        """Leave out what running jobs ran before the first snapshot."""
        self._counted_us = running_us

    def serve(self, ended_us: int, running_us: int) -> None:
        """Take what was served: by runs that have ended since, and by running ones.

        A run that took less than it seemed, because its job had waited in its worker, is made
        up for by the next ones.
        """
        served_us = ended_us + running_us - self._counted_us
        self._counted_us = running_us - min(0, served_us)
        self.fresh_us = max(0, served_us)

    def roll(self, place: int, most_us: float) -> None:
        """Replace the oldest bucket by what was served since the last snapshot.

        Args:
            place: The bucket's.
            most_us: What it was entitled to, if it wanted that much.
        """
        fresh_us = self.fresh_us
        entitled_us = int(most_us) if self.waited or most_us < fresh_us else fresh_us
        served_us = self.served_us = self.served_us + fresh_us - self._served_us[place]
        due_us = self.entitled_us = self.entitled_us + entitled_us - self._entitled_us[place]
        self.size_us = max(due_us, served_us)
        self._served_us[place], self._entitled_us[place] = fresh_us, entitled_us
        self.fresh_us, self.waited = 0, False

    def note(self, snapshot: LedgerSnapshot, unknown_us: int) -> None:
        """Note what its lane waits for, and since when.

        While the lane's next jobs are being read none of them is known: then its oldest job
        counts as waiting since the last one that was, or since something was found pending.

        Args:
            snapshot: The last one.
            unknown_us: Since when a job counts as waiting that was pending before its leader
                led.
        """
        lane, oldest_us = self.lane, snapshot.oldest_us.get(self.lane)
        blocked_by: str | None = None
        if lane.heads.stream is None:
            self.pending_us = None
        else:
            reason = lane.queue.blocked_by or lane.blocked_by
            blocked_by = REASONS[reason] if reason else "capacity" if snapshot.busy else "turn"
            if reason == PAUSED and (lane.queue.name, lane.tenant) in snapshot.full:
                blocked_by = FULL
            if self.pending_us is None:
                self.pending_us = snapshot.at_us
            for stream in lane.heads.streams:
                if stream.ready:
                    _, _, _, seen_us = stream.ready[0]
                    seen_us = unknown_us if seen_us is None else seen_us
                    oldest_us = seen_us if oldest_us is None else min(oldest_us, seen_us)
            if oldest_us is None:
                oldest_us = self.pending_us if self._oldest_us is None else self._oldest_us
        if blocked_by != self.blocked_by:
            self.blocked_by, self.blocked_us = blocked_by, snapshot.at_us
        self._oldest_us = oldest_us
        self.wait_us = None if oldest_us is None else max(0, snapshot.at_us - oldest_us)
