"""What a child holds: claimed attempts on their way from ready to running to written.

Several threads move attempts, without a lock: each step is one operation of a deque or a
dictionary, which the interpreter does whole. `held` has every attempt from its claim until its
ending is written, so that a roll call misses none, wherever it is on its way.
"""

from collections import deque
from collections.abc import Callable, Iterable

from fairlead_worker.attempt import Attempt
from fairlead_worker.wire import CELLS, Ledger


class Slots:
    """The attempts of one child.

    Args:
        concurrency: how many run at a time.
        ledger: where the running ones are noted for the parent.
    """

    def __init__(self, concurrency: int, ledger: Ledger) -> None:
        self.concurrency = concurrency
        self.cells = ledger.cells
        self.held: dict[int, Attempt] = {}
        self.ready: deque[Attempt] = deque()
        self.free: deque[int] = deque(range(concurrency))
        self.running: list[Attempt | None] = [None] * concurrency
        self.lent: dict[tuple[int, int], int] = {}  # to attempts that run alone elsewhere
        # Whoever rests says here when to be woken, so that ending a job costs two comparisons.
        self.wake_claimer_at = -1  # or fewer ready attempts
        self.wake_claimer: Callable[[], None] = _nobody
        self.hindered = False
        """Whether endings cannot be written, so that nothing more is to be claimed."""

    @property
    def busy(self) -> int:
        """How many slots are taken."""
        return self.concurrency - len(self.free)

    @property
    def empty(self) -> bool:
        """Whether nothing is held, here or on loan."""
        return not self.held and not self.lent

    def hinder(self) -> None:
        """Take note that endings cannot be written."""
        self.hindered = True

    def ease(self) -> None:
        """Take note that they can be, and have the claimer look. A repeat does nothing."""
        if self.hindered:
            self.hindered = False
            self.wake_claimer()

    def take(self, attempts: Iterable[Attempt]) -> None:
        """Begin to hold claimed attempts."""
        self.held.update((attempt.token, attempt) for attempt in attempts)

    def settle(self, attempts: Iterable[Attempt]) -> None:
        """End to hold attempts whose endings are written."""
        for attempt in attempts:
            self.held.pop(attempt.token, None)

    def note(self, attempt: Attempt, flags: int) -> None:
        """Write the ledger's record before the handler starts; the id last: it counts."""
        first = attempt.slot * CELLS
        cells = self.cells
        cells[first + 1] = attempt.token
        cells[first + 2] = attempt.started_us
        cells[first + 3] = attempt.deadline_us
        cells[first + 4] = flags
        cells[first] = attempt.job_id
        self.running[attempt.slot] = attempt

    def renote(self, attempt: Attempt, flags: int = 0) -> None:
        """Write a running attempt's new deadline, and further flags."""
        first = attempt.slot * CELLS
        if self.running[attempt.slot] is attempt:
            self.cells[first + 3] = attempt.deadline_us
            self.cells[first + 4] |= flags

    def clear(self, attempt: Attempt) -> None:
        """Clear the ledger's record: the handler has ended."""
        self.cells[attempt.slot * CELLS] = 0
        self.running[attempt.slot] = None


def _nobody() -> None:
    """Wake nobody: the claimer has not started."""
