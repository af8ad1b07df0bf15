"""One claimed attempt, from its claim until its ending is stored."""

from asyncio import Task
from datetime import UTC, datetime, timedelta
from time import monotonic_ns
from typing import Literal, Protocol, TypeAlias

from fairlead.job import Claimed
from fairlead.tasks import Handler
from fairlead_worker.attempts.outcome import Ending, Stop
from fairlead_worker.attempts.trace import Origin, Trace
from fairlead_worker.ipc.attempt_key import Key

Where: TypeAlias = Literal["loop", "thread", "process", "quarantine"]
"""Where its handler runs; a quarantine process is another child, which the parent starts."""


class ReportSink(Protocol):
    """Takes what handlers report while they run."""

    def extend(self, attempt: "Attempt", by_seconds: float) -> None:
        """Move the attempt's deadline, here and in the database."""
        ...

    def report(self, attempt: "Attempt", fraction: float, note: str) -> None:
        """Keep the latest progress."""
        ...

    def checkpoint(self, attempt: "Attempt", text: str) -> None:
        """Store what the next attempt goes on from."""
        ...


def bounded_extension(by_seconds: float, extensible_seconds: float | None) -> float:
    """Return how far from now a deadline may move; 0 or less: not at all."""
    return by_seconds if extensible_seconds is None else min(by_seconds, extensible_seconds)


class Attempt:
    """What the worker knows of an attempt; `fairlead.Job` is its interface for the handler.

    Times are microseconds of CLOCK_MONOTONIC, 0 before they are known. Fields are written by
    one thread at a time: the claimer's, then the one that runs the handler, then the
    finisher's. `deadline_us` and `stop` are changed through `Slots` while it runs; `stop` once.
    `stalled_us` counts from the loop's sum of stalls, and is the part of it that is not this
    attempt's own. `ending_cell` is where the attempt table has its ending until that is stored.
    `origin` and `trace` are for traces only, and stay None where there are none.
    """

    __slots__ = (
        "arrived_us",
        "deadline_us",
        "ended_us",
        "ending",
        "ending_cell",
        "entered_us",
        "finished_by_handler",
        "handler",
        "job_id",
        "origin",
        "row",
        "sink",
        "slot",
        "stale",
        "stalled_us",
        "start_counted",
        "started_us",
        "stop",
        "task",
        "token",
        "trace",
        "where",
    )

    def __init__(
        self, row: Claimed, handler: Handler, sink: ReportSink, arrived_us: int
    ) -> None:
        self.row = row._replace(max_attempts=1) if handler.at_most_once else row
        self.job_id, self.token = row.job_id, row.token  # read more often than the others
        self.handler = handler
        self.sink = sink
        self.arrived_us = arrived_us
        self.where: Where = handler.runs_on
        self.slot = -1
        self.entered_us = self.started_us = self.ended_us = self.deadline_us = 0
        self.stalled_us = 0
        self.ending_cell: int | None = None
        self.ending: Ending | None = None
        self.stop: Stop | None = None
        self.task: Task[None] | None = None
        self.finished_by_handler = self.start_counted = self.stale = False
        self.origin: Origin | None = None
        self.trace: Trace | None = None

    @property
    def key(self) -> Key:
        """The job's id and the token, which fence every statement about it."""
        return self.job_id, self.token

    @property
    def timeout_seconds(self) -> float:
        """The lesser of what the row and the handler allow."""
        of_row, of_handler = self.row.timeout_seconds, self.handler.timeout_seconds
        return of_row if of_handler is None or of_row < of_handler else of_handler

    @property
    def max_attempts(self) -> int:
        """How many attempts may fail: what the row says, or else the handler."""
        return self.row.max_attempts or self.handler.max_attempts

    @property
    def held_us(self) -> int:
        """How long it has had a slot, from entering it to its end."""
        return self.ended_us - self.entered_us

    @property
    def waited_seconds(self) -> float:
        """From falling due to the handler's start."""
        return self.row.waited_seconds + (self.started_us - self.arrived_us) / 1e6

    # --- what fairlead.Job asks for ---------------------------------------------------------

    @property
    def cancelled(self) -> bool:
        """Whether the handler should stop."""
        return self.stop is not None

    @property
    def deadline(self) -> datetime:
        """When the attempt has run too long, by this machine's clock."""
        left_us = self.deadline_us - monotonic_ns() // 1000
        return datetime.now(UTC) + timedelta(microseconds=left_us)

    @property
    def extensible_seconds(self) -> float | None:
        """How far from now its handler may move the deadline; None: as far as it likes."""
        longest = self.row.timeout_max_seconds
        if longest is None:
            return None
        since_us = self.entered_us or self.arrived_us
        return longest - (monotonic_ns() // 1000 - since_us) / 1e6

    def extend(self, by_seconds: float) -> datetime:
        """Move the deadline, but no further than the longest timeout after the claim."""
        seconds = bounded_extension(by_seconds, self.extensible_seconds)
        if seconds > 0:
            self.sink.extend(self, seconds)
        return self.deadline

    def report(self, fraction: float, note: str) -> None:
        """Note how far the work is."""
        self.sink.report(self, fraction, note)

    def save_checkpoint(self, text: str) -> None:
        """Keep what the next attempt goes on from."""
        self.sink.checkpoint(self, text)

    def stores_checkpoint(self, _text: str) -> bool:
        """Let the handler store one itself; True: the database is called."""
        return True

    def completes(self) -> bool:
        """Note that the handler finishes the job itself; True: the database is called."""
        self.finished_by_handler = True
        return True
