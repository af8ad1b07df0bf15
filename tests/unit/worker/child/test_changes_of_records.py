"""What two threads change of one running attempt at a time is what both of them mean."""

import os
from collections.abc import Callable
from threading import Thread

import pytest

from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.child.progress import ProgressReports
from fairlead_worker.child.slots import Slots
from fairlead_worker.ipc.attempt_table import (
    ASKED,
    ASYNC,
    CANCELLED,
    AttemptTable,
    new_attempt_table,
)
from tests.support.attempts import Sink, claimed
from tests.unit.worker.child.test_slots import attempts, handler

BLOCKED_SECONDS = 0.2
"""A thread that has not ended by then waits for this one."""
LATER_US = 60_000_000


class Beside:
    """Does something once, in another thread, at a moment in the middle of a change."""

    def __init__(self) -> None:
        self.action: Callable[[], object] | None = None
        self._threads: list[Thread] = []

    def happen(self) -> None:
        """Do it, and go on when it is done or waits."""
        action, self.action = self.action, None
        if action is not None:
            self._threads.append(Thread(target=action))
            self._threads[-1].start()
            self._threads[-1].join(BLOCKED_SECONDS)

    def end(self) -> None:
        """Wait until it is done; it has to have happened."""
        assert self._threads
        for each in self._threads:
            each.join()


class Interrupted(Attempt):
    """One of which something happens between the read and the write of its deadline."""

    beside = Beside()
    _deadline_us = 0

    @property
    def deadline_us(self) -> int:
        """Return what it is as the read begins."""
        deadline_us = self._deadline_us
        self.beside.happen()
        return deadline_us

    @deadline_us.setter
    def deadline_us(self, deadline_us: int) -> None:
        self._deadline_us = deadline_us


class Running(list[Attempt | None]):
    """What runs, of which something happens as it is read which attempt has a slot."""

    def __init__(self, count: int, beside: Beside) -> None:
        super().__init__([None] * count)
        self._beside = beside

    def __getitem__(self, slot: int) -> Attempt | None:  # type: ignore[override] # no slice is read
        found = super().__getitem__(slot)
        self._beside.happen()
        return found


@pytest.fixture
def table() -> AttemptTable:
    """Return an attempt table of one slot."""
    descriptor = new_attempt_table(1)
    try:
        return AttemptTable(descriptor, 1)
    finally:
        os.close(descriptor)


def start(slots: Slots, attempt: Attempt, deadline_us: int) -> None:
    """Have an attempt start in the only slot."""
    attempt.slot, attempt.started_us, attempt.deadline_us = 0, 1000, deadline_us
    slots.record_start(attempt, ASYNC)


@pytest.mark.parametrize("who", ["watch of the loop", "handler"])
def test_a_cancelled_attempt_does_not_get_its_deadline_back(
    table: AttemptTable, who: str
) -> None:
    """Whoever moves it meanwhile: the parent would wait for it as if nobody had asked."""
    slots, beside = Slots(1, table, stand_ins=0), Beside()
    reports = ProgressReports(slots, lambda: None)
    attempt = Interrupted(claimed(1, 101), handler(), Sink(), 0)
    attempt.beside = beside
    start(slots, attempt, LATER_US)
    beside.action = lambda: slots.stop(attempt, "cancelled", ASKED | CANCELLED, 2000)

    if who == "handler":
        reports.extend(attempt, 60.0)
    else:
        slots.move_deadline(attempt, 500)
    beside.end()

    (entry,) = table.read()
    assert 2000 == entry.deadline_us
    assert ASYNC | ASKED | CANCELLED == entry.flags


def test_what_is_asked_to_stop_is_spared_the_stalls_of_others_like_all(
    table: AttemptTable,
) -> None:
    """It cannot stop while another one keeps the loop, and would be blamed for that."""
    slots = Slots(1, table, stand_ins=0)
    (attempt,) = attempts(1, handler())
    start(slots, attempt, LATER_US)
    slots.stop(attempt, "cancelled", ASKED | CANCELLED, 2000)

    slots.move_deadline(attempt, 500)
    slots.stop(attempt, "timeout", ASKED, 1)

    assert ([2500], "cancelled") == ([each.deadline_us for each in table.read()], attempt.stop)


def test_a_change_of_what_has_ended_meets_nothing_that_runs_in_its_slot(
    table: AttemptTable,
) -> None:
    """Also where it ends, and the next one begins, in the middle of the change."""
    slots, beside = Slots(1, table, stand_ins=0), Beside()
    slots.running = Running(1, beside)
    old, new = attempts(2, handler())
    start(slots, old, 1)

    def follow() -> None:
        slots.record_end(old)
        start(slots, new, LATER_US)

    beside.action = follow
    slots.move_deadline(old, 500)
    beside.end()

    (entry,) = table.read()
    assert (new.key, LATER_US) == (entry.key, entry.deadline_us)
