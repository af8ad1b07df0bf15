"""What has ended stays in the attempt table until it is stored."""

import os

import pytest

from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.attempts.outcome import Ending, HandedBack
from fairlead_worker.child.claim_rate import BATCH_MAX, HELD_MAX
from fairlead_worker.child.slots import Slots
from fairlead_worker.ipc.attempt_table import (
    ASYNC,
    UNSTORED_MAX,
    AttemptTable,
    UnstoredSuccess,
    new_attempt_table,
)
from tests.unit.worker.child.test_slots import attempts, handler


@pytest.fixture
def table() -> AttemptTable:
    """Return an attempt table of two slots."""
    descriptor = new_attempt_table(2)
    try:
        return AttemptTable(descriptor, 2)
    finally:
        os.close(descriptor)


@pytest.fixture
def slots(table: AttemptTable) -> Slots:
    """Return two slots with that table."""
    return Slots(2, table, stand_ins=0)


def run(slots: Slots, attempt: Attempt, *, ending: Ending | None = None) -> None:
    """Have an attempt start at 1000 and end at 1250, in the first slot."""
    attempt.slot, attempt.entered_us, attempt.started_us = 0, 1000, 1000
    slots.hold([attempt])
    slots.record_start(attempt, ASYNC)
    attempt.ended_us, attempt.ending = 1250, ending
    slots.record_end(attempt)


def test_what_has_ended_is_in_the_table_until_it_is_stored(
    slots: Slots, table: AttemptTable
) -> None:
    """If the process dies before, its parent finds plain successes, and what else had run."""
    plain, failed, stored = attempts(3, handler())
    run(slots, plain)
    run(slots, failed, ending=HandedBack("failed", "it says why"))
    run(slots, stored)
    slots.drop([stored])

    assert () == table.read()
    (lost,), successes = table.read_dead()
    assert (UnstoredSuccess(1, 101, 250),) == successes
    assert failed.key == lost.key

    slots.drop([plain, failed])

    assert ((), ()) == table.read_dead()


def test_what_runs_in_a_slot_does_not_hide_what_ended_there(
    slots: Slots, table: AttemptTable
) -> None:
    """A slot has its next attempt before the ending of the last one is stored."""
    ended, running = attempts(2, handler())
    run(slots, ended)
    running.slot, running.started_us = 0, 1300
    slots.record_start(running, ASYNC)

    (entry,), (success,) = table.read_dead()

    assert [running.key, ended.key] == [entry.key, success.key]


def test_a_death_amid_the_record_of_an_end_shows_the_attempt_once(
    slots: Slots, table: AttemptTable
) -> None:
    """The ending is recorded before the start is cleared."""
    (ended,) = attempts(1, handler())
    run(slots, ended)
    slots.record_start(ended, ASYNC)

    assert ((), (UnstoredSuccess(1, 101, 250),)) == table.read_dead()


def test_what_ended_before_its_start_is_not_in_the_table(
    slots: Slots, table: AttemptTable
) -> None:
    """It has not run."""
    (unstarted,) = attempts(1, handler())
    unstarted.slot = 0
    slots.record_end(unstarted)

    assert ((), ()) == table.read_dead()


def test_all_that_a_child_may_hold_is_in_the_table(slots: Slots, table: AttemptTable) -> None:
    """Also where nothing can be stored for so long that it claims no more."""
    many = attempts(HELD_MAX + BATCH_MAX, handler())
    for each in many:
        run(slots, each)

    assert len(many) == UNSTORED_MAX == len(table.read_dead()[1])
    slots.drop(many)
    assert ((), ()) == table.read_dead()
