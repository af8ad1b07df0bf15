"""One child at a time runs jobs alone, for as long as that is healthy."""

from collections.abc import Iterable

import pytest

from fairlead_worker import solo, wire
from fairlead_worker.children import Child
from fairlead_worker.ledger_view import Cause, Died, Fenced, Stopped
from fairlead_worker.solo import Solo

STARTED = wire.Entry(
    slot=0, job_id=1, token=101, started_us=1, deadline_us=2, flags=wire.THREAD
)
STOPPED = Stopped("it was time")


class Said(Child):
    """A child without a process, which notes what it is told."""

    def __init__(self) -> None:
        self.ready = False
        self.said: list[wire.ToChild] = []
        self.runs: tuple[wire.Entry, ...] = ()
        self.ends: list[float] = []

    @property
    def pid(self) -> int:
        """No process has this id."""
        return 0

    def say(self, message: wire.ToChild) -> None:
        """Note it."""
        self.said.append(message)

    def running(self) -> tuple[wire.Entry, ...]:
        """Return what it was made to run."""
        return self.runs

    def end(self, cause: Cause, *, within_seconds: float = 0.0) -> None:
        """Note it."""
        self.cause = cause
        self.ends.append(within_seconds)


class Stage:
    """A sender, the jobs that it hands over, and the children that were started for them."""

    def __init__(self, jobs: Iterable[int] = (1, 2)) -> None:
        self.sender = Said()
        self.children: list[Said] = []
        self.solo = Solo(self._start)
        for job_id in jobs:
            self.solo.take(wire.Alone(job_id, 100 + job_id), self.sender)

    def _start(self) -> Child:
        self.children.append(Said())
        return self.children[-1]

    def ready(self, now: float = 0.0) -> Said:
        """Start a child, let it be ready, and give it its first job; return it."""
        self.solo.next(now)
        child = self.children[-1]
        child.ready = True
        self.solo.next(now)
        return child

    def ended(self, job_id: int, now: float = 0.0) -> None:
        """Let a job end, and have the next one run."""
        self.solo.ended(wire.Ended(job_id, 100 + job_id), now)
        self.solo.next(now)


@pytest.fixture
def stage() -> Stage:
    """Return two jobs that wait."""
    return Stage()


def test_the_next_job_is_given_when_the_last_one_has_ended(stage: Stage) -> None:
    """One job at a time: a death has one to blame."""
    child = stage.ready()
    assert [wire.Take(1, 101)] == child.said

    stage.ended(1)

    assert [wire.Take(1, 101), wire.Take(2, 102)] == child.said
    assert [wire.Settled(1, 101)] == stage.sender.said
    assert frozenset({102}) == stage.solo.tokens


def test_a_process_is_replaced_after_so_many_jobs() -> None:
    """What jobs leave behind must not add up."""
    stage = Stage(range(1, solo.JOBS_MAX + 2))
    child = stage.ready()
    for job_id in range(1, solo.JOBS_MAX + 1):
        stage.ended(job_id)
    assert wire.Drain() == child.said[-1]
    assert child.ends

    assert () == stage.solo.bury((), STOPPED)
    fresh = stage.ready()

    last = solo.JOBS_MAX + 1
    assert [wire.Take(last, 100 + last)] == fresh.said


def test_a_process_that_has_had_no_job_for_a_while_ends(stage: Stage) -> None:
    """It holds an application's memory."""
    child = stage.ready()
    stage.ended(1)
    stage.ended(2, now=50.0)
    stage.solo.next(49.9 + solo.IDLE_SECONDS)
    assert wire.Drain() not in child.said

    stage.solo.next(50.0 + solo.IDLE_SECONDS)

    assert wire.Drain() == child.said[-1]


def test_a_job_that_was_declined_is_the_first_one_of_a_fresh_process(stage: Stage) -> None:
    """What an earlier job left behind must not count against one that died alone before."""
    child = stage.ready()
    stage.ended(1)
    stage.solo.declined(wire.Declined(2, 102))
    stage.solo.next(0.0)
    assert wire.Drain() == child.said[-1]
    assert () == stage.solo.bury((), STOPPED)

    fresh = stage.ready()

    assert [wire.Take(2, 102)] == fresh.said


def test_a_job_that_does_not_begin_is_returned_with_a_fresh_process(stage: Stage) -> None:
    """An earlier job may have left something that keeps the process from beginning it."""
    child = stage.ready()
    stage.solo.next(solo.BEGIN_SECONDS - 0.1)
    assert [] == child.ends

    stage.solo.next(solo.BEGIN_SECONDS)

    assert child.ends
    (ending,) = stage.solo.bury((), STOPPED)
    assert (1, "returned") == (ending.job_id, ending.ended_as)
    assert [wire.Settled(1, 101)] == stage.sender.said


def test_a_job_that_has_begun_may_take_its_time(stage: Stage) -> None:
    """Its own deadline bounds it."""
    child = stage.ready()
    child.runs = (STARTED,)

    stage.solo.next(10 * solo.BEGIN_SECONDS)

    assert [] == child.ends


@pytest.mark.parametrize(
    ("started", "cause", "expected"),
    [
        ((STARTED,), Died(-11), ["crashed"]),
        ((), Died(-11), ["snoozed"]),
        ((STARTED,), STOPPED, ["released"]),
        ((), STOPPED, ["returned"]),
        ((STARTED,), Fenced(), []),
        ((), Fenced(), []),
    ],
)
def test_a_death_is_counted_only_for_a_job_that_had_started(
    stage: Stage, started: tuple[wire.Entry, ...], cause: Cause, expected: list[str]
) -> None:
    """What waits behind it is not to blame, and is run by the next process."""
    stage.ready()

    endings = stage.solo.bury(started, cause)

    assert expected == [each.ended_as for each in endings]
    assert frozenset({102}) == stage.solo.tokens
    assert [wire.Take(2, 102)] == stage.ready().said


def test_a_death_between_two_jobs_is_nobodys_fault() -> None:
    """No attempt ran, so none has crashed."""
    stage = Stage([1])
    stage.ready()
    stage.ended(1)

    assert () == stage.solo.bury((), Died(-9))


def test_a_process_that_dies_before_it_is_ready_lets_the_job_rest(stage: Stage) -> None:
    """A machine that cannot start children must not try one job without end."""
    stage.solo.next(0.0)

    (ending,) = stage.solo.bury((), Died(1))

    assert (1, "snoozed") == (ending.job_id, ending.ended_as)
    assert frozenset({102}) == stage.solo.tokens


def test_what_is_just_being_kept_waits_for_a_moment(stage: Stage) -> None:
    """Said to be waiting when it has begun, it would not be to blame for a death."""
    child = stage.ready()
    assert ((2, 102),) == stage.solo.waiting()
    stage.solo.ended(wire.Ended(1, 101), 0.0)

    stage.solo.next(0.0, untouchable=frozenset({(2, 102)}))
    assert [wire.Take(1, 101)] == child.said

    stage.solo.next(0.0)
    assert [wire.Take(1, 101), wire.Take(2, 102)] == child.said
