"""A child that has to be killed for one job lets its other jobs end first, within bounds."""

from fairlead_worker.ipc import messages
from fairlead_worker.ipc.attempt_table import THREAD, AttemptEntry
from fairlead_worker.ipc.interruptions import Overran
from fairlead_worker.parent.retiring_children import (
    FINISH_SECONDS,
    RETIRING_MAX,
    RetiringChildren,
)
from tests.unit.worker.parent.test_quarantine import FakeChild

DEAF, NEIGHBOUR = (
    AttemptEntry(slot=n, job_id=n, token=100 + n, started_us=1, deadline_us=2, flags=THREAD)
    for n in (0, 1)
)
FOR_DEAF = Overran(frozenset({DEAF.token}), 5.0)


def retiring(*runs: AttemptEntry) -> tuple[RetiringChildren, FakeChild]:
    """Return a child that is ended for one job while these run."""
    children, child = RetiringChildren(), FakeChild()
    child.claiming, child.runs = True, runs
    children.take(child, FOR_DEAF)
    return children, child


def test_it_claims_no_more_and_is_killed_after_a_bound() -> None:
    """What it has not started goes back at once."""
    _, child = retiring(DEAF, NEIGHBOUR)

    assert (False, [messages.Drain()]) == (child.claiming, child.sent)
    assert ([FINISH_SECONDS], FOR_DEAF) == (child.ends, child.cause)


def test_it_ends_when_its_other_jobs_have_ended() -> None:
    """Once: it stores what has ended, and what still runs is cut short."""
    children, child = retiring(DEAF, NEIGHBOUR)
    children.advance()
    assert [messages.Drain()] == child.sent
    assert 2 == children.slotless

    child.runs = (DEAF,)
    children.advance()
    children.advance()

    assert [messages.Drain(), messages.Release()] == child.sent
    assert child.ends[-1] < FINISH_SECONDS


def test_a_second_job_that_ignores_its_deadline_is_not_waited_for() -> None:
    """It is one more that the child is ended for."""
    children, child = retiring(DEAF, NEIGHBOUR)
    child.cause = Overran(frozenset({DEAF.token, NEIGHBOUR.token}), 5.0)

    children.advance()

    assert messages.Release() in child.sent


def test_only_so_many_live_on_until_one_is_reaped() -> None:
    """Each has the application in memory once more."""
    children, child = retiring(DEAF)
    room = [children.has_room]
    for _ in range(RETIRING_MAX - 1):
        children.take(FakeChild(), FOR_DEAF)
        room.append(children.has_room)

    children.remove(child)

    assert [*[True] * (RETIRING_MAX - 1), False, True] == [*room, children.has_room]
    assert RETIRING_MAX - 1 == len(children.children)
