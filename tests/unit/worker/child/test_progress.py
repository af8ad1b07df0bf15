"""Checkpoints wait a moment for the finisher, which takes the latest one of each attempt."""

import pytest

from fairlead_worker.child import progress
from fairlead_worker.child.progress import CHECKPOINT_SECONDS, ProgressReports
from tests.unit.worker.child.test_slots import attempts, handler, slots_of


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Move the time of checkpoints."""
    made = Clock()
    monkeypatch.setattr(progress, "monotonic", made)
    return made


def test_checkpoints_are_taken_a_few_times_a_second_at_most(clock: Clock) -> None:
    """The first at once, since it wakes the finisher; each is a version of a job's row."""
    woken: list[None] = []
    reports = ProgressReports(slots_of(2), lambda: woken.append(None))
    one, two = attempts(2, handler())
    nothing = reports.checkpoints_wait_seconds(or_else=7.0)

    reports.checkpoint(one, "1")
    reports.checkpoint(one, "2")
    reports.checkpoint(two, "3")
    waits = [reports.checkpoints_wait_seconds(or_else=7.0)]
    taken = [reports.take_checkpoints()]
    reports.checkpoint(one, "4")
    waits.append(reports.checkpoints_wait_seconds(or_else=7.0))
    taken.append(reports.take_checkpoints())
    clock.now += CHECKPOINT_SECONDS
    waits.append(reports.checkpoints_wait_seconds(or_else=7.0))
    taken.append(reports.take_checkpoints())

    assert 7.0 == nothing
    assert [0.0, CHECKPOINT_SECONDS, 0.0] == pytest.approx(waits)
    assert [[(one, "2"), (two, "3")], [], [(one, "4")]] == taken
    assert 2 == len(woken)
    assert [] == reports.take_checkpoints()


@pytest.mark.usefixtures("clock")
def test_what_could_not_be_stored_waits_unless_there_is_a_later_one() -> None:
    """So that no later one is replaced."""
    reports = ProgressReports(slots_of(2), lambda: None)
    one, two = attempts(2, handler())
    reports.checkpoint(one, "1")
    reports.checkpoint(two, "1")
    taken = reports.take_checkpoints()
    reports.checkpoint(two, "2")

    reports.put_back_checkpoints(taken)

    assert [(two, "2"), (one, "1")] == reports.take_checkpoints_of([two, one])
    assert [] == reports.take_checkpoints_of([two, one])


@pytest.mark.usefixtures("clock")
def test_the_checkpoint_of_an_attempt_that_has_ended_is_taken_at_once() -> None:
    """Before its job is handed back; those of others wait for their time."""
    reports = ProgressReports(slots_of(2), lambda: None)
    one, two = attempts(2, handler())
    reports.checkpoint(one, "1")
    reports.take_checkpoints()
    reports.checkpoint(one, "2")
    reports.checkpoint(two, "1")

    assert [(one, "2")] == reports.take_checkpoints_of([one])
    assert [] == reports.take_checkpoints()
