"""The queues whose jobs have keys, and which of their lanes are to be looked at."""

from collections.abc import Iterable, Mapping

from fairlead_scheduler.books import Flight, Lane, Queue


class Keyed:
    """What the keys of all queues have to do with the next look and the next plan."""

    __slots__ = ("again", "awaits_values", "queues", "starved", "unread")

    def __init__(self) -> None:
        self.queues: dict[Queue, None] = {}
        """Those that have keys."""
        self.unread: dict[Lane, None] = {}
        """Lanes with heads whose values are to be read."""
        self.starved: dict[Lane, None] = {}
        """Those among them whose turn it was."""
        self.again: dict[Lane, None] = {}
        """Lanes that the next plan looks at again."""
        self.awaits_values = False
        """Whether somebody's turn waits for values to be read."""

    def leave(self, ids: Iterable[int], flights: Mapping[int, Flight]) -> None:
        """Give the keys back of jobs that are about to leave the flights."""
        for job_id in ids:
            flight = flights.get(job_id)
            if flight is not None and flight.lane.queue.keys is not None:
                flight.lane.queue.keys.leave(job_id)
