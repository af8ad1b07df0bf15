"""The attempts that a child holds, and the slots they run in: from ready to running to stored.

Several threads move attempts, without a lock: each step is one operation of a deque or a
dictionary, which the interpreter does whole. `held` has every attempt from its claim until its
ending is stored, so the orphan-claim check misses none, wherever it is on its way.

A slot is a number. At any time it is free or belongs to one attempt, and only these change
that:

    free -> attempt      `acquire` takes a slot, and `next` puts the first ready attempt into it
    attempt -> attempt   `next` again, when the one before has ended
    attempt -> free      `next` finds none ready; `free_slot`, at the end of a turn;
                         `return_slot`, when the parent returns a lent slot

So an attempt keeps its slot while it runs, and while the slot is lent to the parent, which runs
the attempt in quarantine. One that has to wait at its kind's gate waits without a slot, and
gets the first one that is free after its turn has come. What the parent runs stays inside its
gate until it has ended, also when its slot is returned before.

An attempt that does not stop when it has to gives its slot up to the others: `stand_in` frees
another number for it, and its own is free for the next `stand_in` once it has ended.

A running attempt's deadline, its flags and whether it is to stop are changed by several threads
too. Each of these changes is one of several operations, so it is made under a lock. Only where
one is under way does the end of a record wait for it: nearly every attempt ends unchanged.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping

from fairlead.tasks import Handler
from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.attempts.outcome import Stop
from fairlead_worker.child.concurrency_gate import ConcurrencyGates
from fairlead_worker.child.unhandled_kinds import UnhandledKinds
from fairlead_worker.ipc.attempt_key import Key
from fairlead_worker.ipc.attempt_table import CELLS, HAS_CONTENT, AttemptTable


class Slots:
    """The attempts of one child, and the slots in which they run.

    Args:
        concurrency: how many run at a time.
        table: where the running ones are recorded for the parent.
        stand_ins: how many that do not stop give their slots up at a time.
    """

    def __init__(self, concurrency: int, table: AttemptTable, *, stand_ins: int) -> None:
        self.concurrency = concurrency
        self.cells = table.cells
        self.held: dict[int, Attempt] = {}
        self.ready: deque[Attempt] = deque()
        self.running: list[Attempt | None] = [None] * (concurrency + stand_ins)
        self._free: deque[int] = deque(range(concurrency))
        self._stand_ins: deque[int] = deque(range(concurrency, concurrency + stand_ins))
        self._given_up: set[int] = set()  # numbers that are no slots until their attempts end
        self._gates = ConcurrencyGates()
        self._admitted: deque[Attempt] = deque()  # inside their gates, and without a slot
        self._lent: dict[Key, int] = {}
        self._free_records = deque(table.unstored_cells)
        self._inside_elsewhere: dict[Key, Attempt] = {}
        self._changes = threading.Lock()
        self.moved: Mapping[str, Handler] = {}
        """By kind, what takes the place of coroutines that may not begin on the loop."""
        # A resting claimer sets when to be woken, so that ending a job costs two comparisons.
        self.wake_claimer_at = -1  # or fewer ready attempts wake it
        self.wake_claimer: Callable[[], None] = _before_start
        self.excluded_kinds: tuple[str, ...] = ()  # once one of these has room, this is called
        self.kind_reopened: Callable[[], None] = _before_start
        self.unhandled = UnhandledKinds()
        self.claims_blocked = True
        """Whether endings cannot be stored, or not yet, so that nothing more is claimed."""
        self.loop_stalled = False
        """Whether the loop could begin nothing, so that nothing more is claimed."""
        self.locked_endings = 0
        """How many attempts have ended whose jobs another transaction keeps locked."""

    # --- what is held -----------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether no attempt is held and no slot is lent."""
        return not self.held and not self._lent

    def hold(self, attempts: Iterable[Attempt]) -> None:
        """Hold claimed attempts from now on."""
        self.held.update((attempt.token, attempt) for attempt in attempts)

    def drop(self, attempts: Iterable[Attempt]) -> None:
        """Hold attempts no longer: their endings are stored, or the parent has them."""
        for attempt in attempts:
            self.held.pop(attempt.token, None)
            if attempt.ending_cell is not None:
                self.cells[attempt.ending_cell] = 0
                self._free_records.append(attempt.ending_cell)
                attempt.ending_cell = None

    def block_claims(self) -> None:
        """Stop claims: endings cannot be stored."""
        self.unhandled = UnhandledKinds()
        self.claims_blocked = True

    def unblock_claims(self) -> None:
        """Allow claims again and wake the claimer. A repeat does nothing."""
        if self.claims_blocked:
            self.claims_blocked = False
            self.wake_claimer()

    def resume_loop(self) -> None:
        """Allow claims after a stall and wake the claimer. A repeat does nothing."""
        if self.loop_stalled:
            self.loop_stalled = False
            self.wake_claimer()

    # --- which attempt has which slot -------------------------------------------------------

    @property
    def free(self) -> int:
        """How many slots are free."""
        return len(self._free)

    @property
    def busy(self) -> int:
        """How many slots are taken."""
        return self.concurrency - len(self._free)

    def acquire(self) -> int | None:
        """Take a free slot, for `next`; None when all are taken."""
        try:
            return self._free.pop()
        except IndexError:
            return None

    @property
    def has_ready(self) -> bool:
        """Whether an attempt waits for nothing but a slot."""
        return bool(self._admitted or self.ready)

    def next(self, slot: int) -> Attempt | None:
        """Give a slot to the first ready attempt, and return it to be started.

        What has to wait at its kind's gate is passed over: it becomes ready when `record_end`
        of another one lets it in. None when nothing is ready, which frees the slot.
        """
        if self._given_up and self._is_given_up(slot):
            return None
        while True:
            admitted = bool(self._admitted)
            try:
                attempt = self._admitted.popleft() if admitted else self.ready.popleft()
            except IndexError:
                self._free.append(slot)
                attempt = None
            if len(self.ready) <= self.wake_claimer_at:
                self.wake_claimer()
            if attempt is None:
                return None
            if self.moved:
                self._move(attempt)
            bounded = attempt.handler.concurrency is not None
            if admitted or not bounded or self._gates.enter(attempt):
                attempt.slot = slot
                return attempt

    def recheck(self, attempt: Attempt) -> Attempt | None:
        """Return what runs in the slot of an attempt that may have been moved since it got it.

        That is another one, or none, if the attempt has to wait at its kind's gate now.
        """
        is_inside = attempt.handler.concurrency is not None
        if not self._move(attempt) or is_inside or self._gates.enter(attempt):
            return attempt
        return self.next(attempt.slot)

    def _move(self, attempt: Attempt) -> bool:
        """Take an attempt off the loop if its kind has been moved; return whether it was."""
        handler = self.moved.get(attempt.handler.kind)
        if handler is None or attempt.where != "loop":
            return False
        attempt.handler, attempt.where = handler, "process"
        return True

    def free_slot(self, attempt: Attempt) -> None:
        """Free the slot of an attempt that has ended, although others may be ready."""
        if not (self._given_up and self._is_given_up(attempt.slot)):
            self._free.append(attempt.slot)

    def stand_in(self, attempt: Attempt) -> bool:
        """Free another slot for one whose attempt does not stop; return whether that is done.

        Not twice for one attempt, and for `stand_ins` at a time at most.
        """
        with self._changes:
            number = attempt.slot
            if self.running[number] is not attempt or number in self._given_up:
                return False
            try:
                stand_in = self._stand_ins.popleft()
            except IndexError:
                return False
            self._given_up.add(number)
        self._free.append(stand_in)
        return True

    def _is_given_up(self, slot: int) -> bool:
        """Keep the number for the next `stand_in` if it was given up; return whether it was."""
        with self._changes:
            if slot not in self._given_up:
                return False
            self._given_up.remove(slot)
            self._stand_ins.append(slot)
        return True

    def waiting(self) -> tuple[Attempt, ...]:
        """Return what waits at its kind's gate."""
        return self._gates.waiting()

    @property
    def slotless(self) -> int:
        """How many attempts have no slot.

        They wait at their kinds' gates, do not stop, or cannot be stored for another's lock.
        """
        return self._gates.waiting_count + len(self._given_up) + self.locked_endings

    def exclude_full_kinds(self) -> tuple[str, ...]:
        """Return the kinds of which enough wait that the next claim is to leave them out.

        `kind_reopened` is called once, when one of them has room again.
        """
        excluded = self.excluded_kinds = self._gates.full_kinds()
        if excluded:  # one may have room since
            self._check_reopened()
        return excluded

    def withdraw(self, attempt: Attempt) -> bool:
        """Take back an attempt that waits at its gate; return whether it did."""
        withdrawn = self._gates.withdraw(attempt)
        self._check_reopened()
        return withdrawn

    def _check_reopened(self) -> None:
        """Let the claimer know when a kind that it left out has room again."""
        if not set(self.excluded_kinds) <= set(self._gates.full_kinds()):
            self.excluded_kinds = ()
            self.kind_reopened()

    def take_unstarted(self) -> list[Attempt]:
        """Take back whatever is ready or waits at a gate."""
        taken: list[Attempt] = []
        while self.ready:
            try:
                taken.append(self.ready.popleft())
            except IndexError:
                break
        taken += self._gates.take_waiting()
        while self._admitted:
            try:
                taken.append(self._admitted.popleft())
            except IndexError:
                break
            self._gates.leave(taken[-1])
        return taken

    def lend_slot(self, attempt: Attempt) -> None:
        """Keep an attempt's slot and its place inside its gate: the parent runs it."""
        self._lent[attempt.key] = attempt.slot
        if attempt.handler.concurrency is not None:
            self._inside_elsewhere[attempt.key] = attempt

    def return_slot(self, key: Key) -> bool:
        """Free the slot that was lent for this attempt; return whether one was."""
        slot = self._lent.pop(key, None)
        if slot is None:
            return False
        self._free.append(slot)
        return True

    def end_elsewhere(self, key: Key) -> None:
        """Let an attempt leave its gate that the parent has run; a repeat does nothing."""
        attempt = self._inside_elsewhere.pop(key, None)
        if attempt is not None:
            self._leave_gate(attempt)

    # --- what the parent sees ---------------------------------------------------------------

    def record_start(self, attempt: Attempt, flags: int) -> None:
        """Write the table's record before the handler starts; the job id last: it counts."""
        first = attempt.slot * CELLS
        cells = self.cells
        cells[first + 1] = attempt.token
        cells[first + 2] = attempt.started_us
        cells[first + 3] = attempt.deadline_us
        cells[first + 4] = flags
        cells[first] = attempt.job_id
        self.running[attempt.slot] = attempt

    def record_change(self, attempt: Attempt, flags: int = 0) -> None:
        """Write a running attempt's new deadline, and further flags."""
        with self._changes:
            self._write_change(attempt, flags)

    def clear_flag(self, attempt: Attempt, flag: int) -> None:
        """Take a flag out of a running attempt's record."""
        with self._changes:
            if self.running[attempt.slot] is attempt:
                self.cells[attempt.slot * CELLS + 4] &= ~flag

    def move_deadline(self, attempt: Attempt, by_us: int) -> None:
        """Give a running attempt more time, also to stop: it could do nothing meanwhile."""
        with self._changes:
            attempt.deadline_us += by_us
            self._write_change(attempt)

    def extend_deadline(self, attempt: Attempt, until_us: int) -> bool:
        """Give an attempt time until then at least; False: it has been asked to stop."""
        with self._changes:
            if attempt.stop is not None:
                return False
            attempt.deadline_us = max(attempt.deadline_us, until_us)
            self._write_change(attempt)
            return True

    def stop(self, attempt: Attempt, why: Stop, flags: int, until_us: int | None) -> bool:
        """Note that an attempt is asked to stop, by then if it may be ended for it after that.

        False: it has been asked before.
        """
        with self._changes:
            if attempt.stop is not None:
                return False
            attempt.stop = why
            if until_us is not None:
                attempt.deadline_us = min(attempt.deadline_us, until_us)
            self._write_change(attempt, flags)
            return True

    def _write_change(self, attempt: Attempt, flags: int = 0) -> None:
        first = attempt.slot * CELLS
        if self.running[attempt.slot] is attempt:
            self.cells[first + 3] = attempt.deadline_us
            self.cells[first + 4] |= flags

    def record_end(self, attempt: Attempt) -> None:
        """Replace the table's record: the handler has ended. Its slot is still taken.

        If another attempt waits at its gate, `next` gives that one the first slot.
        """
        if attempt.started_us:
            self._record_ending(attempt)
        self.cells[attempt.slot * CELLS] = 0
        self.running[attempt.slot] = None
        if self._changes.locked():  # who took it before may have read that this one runs
            with self._changes:
                pass
        if attempt.handler.concurrency is not None:
            self._leave_gate(attempt)

    def _leave_gate(self, attempt: Attempt) -> None:
        following = self._gates.leave(attempt)
        if following is not None:
            self._admitted.append(following)
        if self.excluded_kinds:
            self._check_reopened()

    def _record_ending(self, attempt: Attempt) -> None:
        """Record an ending until it is stored, for the case that this process dies before."""
        first = self._free_records.pop()
        cells, plain = self.cells, attempt.ending is None
        cells[first + 1] = attempt.token
        cells[first + 2] = attempt.ended_us - attempt.entered_us if plain else HAS_CONTENT
        cells[first] = attempt.job_id
        attempt.ending_cell = first


def _before_start() -> None:
    """Do nothing: the claimer has not started."""
