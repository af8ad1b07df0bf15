"""What a child holds: claimed attempts on their way from ready to running to written.

Several threads move attempts, without a lock: each step is one operation of a deque or a
dictionary, which the interpreter does whole. `held` has every attempt from its claim until its
ending is written, so that a roll call misses none, wherever it is on its way.

A slot is a number, and at any time either free or the property of one attempt. It changes
hands here and nowhere else:

    free -> attempt      `enter` takes a slot, and `next` puts the first ready attempt into it
    attempt -> attempt   `next` again, when the one before has ended
    attempt -> free      `next` finds nobody; `leave`, at the end of a turn; `withdraw` and
                         `take_unstarted`, for what will not run; `repay`, after a loan

So an attempt keeps its slot while it waits at its kind's gate, while it runs, and while it is
on loan to the parent, which runs it alone elsewhere.
"""

from collections import deque
from collections.abc import Callable, Iterable

from fairlead_worker.attempt import Attempt
from fairlead_worker.gates import Gates
from fairlead_worker.keys import Key
from fairlead_worker.ledger import CELLS, Ledger


class Slots:
    """The attempts of one child, and the slots in which they run.

    Args:
        concurrency: how many run at a time.
        ledger: where the running ones are noted for the parent.
    """

    def __init__(self, concurrency: int, ledger: Ledger) -> None:
        self.concurrency = concurrency
        self.cells = ledger.cells
        self.held: dict[int, Attempt] = {}
        self.ready: deque[Attempt] = deque()
        self.running: list[Attempt | None] = [None] * concurrency
        self._free: deque[int] = deque(range(concurrency))
        self._gates = Gates()
        self._lent: dict[Key, int] = {}
        # Whoever rests says here when to be woken, so that ending a job costs two comparisons.
        self.wake_claimer_at = -1  # or fewer ready attempts
        self.wake_claimer: Callable[[], None] = _nobody
        self.hindered = False
        """Whether endings cannot be written, so that nothing more is to be claimed."""

    # --- what is held -----------------------------------------------------------------------

    @property
    def empty(self) -> bool:
        """Whether nothing is held, here or on loan."""
        return not self.held and not self._lent

    def take(self, attempts: Iterable[Attempt]) -> None:
        """Begin to hold claimed attempts."""
        self.held.update((attempt.token, attempt) for attempt in attempts)

    def settle(self, attempts: Iterable[Attempt]) -> None:
        """End to hold attempts whose endings are written."""
        for attempt in attempts:
            self.held.pop(attempt.token, None)

    def hinder(self) -> None:
        """Take note that endings cannot be written."""
        self.hindered = True

    def ease(self) -> None:
        """Take note that they can be, and have the claimer look. A repeat does nothing."""
        if self.hindered:
            self.hindered = False
            self.wake_claimer()

    # --- who has which slot -----------------------------------------------------------------

    @property
    def free(self) -> int:
        """How many slots are free."""
        return len(self._free)

    @property
    def busy(self) -> int:
        """How many slots are taken."""
        return self.concurrency - len(self._free)

    def enter(self) -> int | None:
        """Take a free slot, for `next`; None when all are taken."""
        try:
            return self._free.pop()
        except IndexError:
            return None

    def next(self, slot: int) -> Attempt | None:
        """Give a slot to the first ready attempt, and return it to be started.

        None when nobody is ready, which frees the slot, or when the attempt has to wait for its
        turn there: then `over` returns it.
        """
        try:
            attempt = self.ready.popleft()
        except IndexError:
            self._free.append(slot)
            attempt = None
        if len(self.ready) <= self.wake_claimer_at:
            self.wake_claimer()
        if attempt is None:
            return None
        attempt.slot = slot
        # What runs alone does so in another child, and the gates are each child's own.
        bounded = attempt.handler.concurrency is not None and attempt.where != "alone"
        return None if bounded and not self._gates.enter(attempt) else attempt

    def leave(self, attempt: Attempt) -> None:
        """Free the slot of an attempt that has ended, although others may be ready."""
        self._free.append(attempt.slot)

    def waiting(self) -> tuple[Attempt, ...]:
        """Return what has a slot and waits for its turn in it."""
        return self._gates.waiting()

    def withdraw(self, attempt: Attempt) -> bool:
        """Take back an attempt that waits for its turn; tell whether it did."""
        if not self._gates.withdraw(attempt):
            return False
        self._free.append(attempt.slot)
        return True

    def take_unstarted(self) -> list[Attempt]:
        """Take back whatever is ready or waits for its turn."""
        taken: list[Attempt] = []
        while self.ready:
            try:
                taken.append(self.ready.popleft())
            except IndexError:
                break
        waiting = self._gates.take_waiting()
        self._free.extend(attempt.slot for attempt in waiting)
        return taken + waiting

    def lend(self, attempt: Attempt) -> None:
        """Keep an attempt's slot for the parent, which runs it alone elsewhere."""
        self._lent[attempt.key] = attempt.slot

    def repay(self, key: Key) -> bool:
        """Free the slot that was lent for this attempt; tell whether one was."""
        slot = self._lent.pop(key, None)
        if slot is None:
            return False
        self._free.append(slot)
        return True

    # --- what the parent sees ---------------------------------------------------------------

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

    def over(self, attempt: Attempt) -> Attempt | None:
        """Clear the ledger's record: the handler has ended. Its slot is still its own.

        Returns:
            The attempt whose turn it is now, to be started in the slot that it waited in.
        """
        self.cells[attempt.slot * CELLS] = 0
        self.running[attempt.slot] = None
        return None if attempt.handler.concurrency is None else self._gates.leave(attempt)


def _nobody() -> None:
    """Wake nobody: the claimer has not started."""
