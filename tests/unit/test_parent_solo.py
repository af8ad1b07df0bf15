"""A few processes run jobs alone, one at a time each, for as long as that is healthy."""

from collections.abc import Iterable

import pytest

from fairlead_worker import seat, wire
from fairlead_worker.children import Child
from fairlead_worker.ledger import THREAD, Entry
from fairlead_worker.ledger_view import Cause, Died, Ending, Fenced, Stopped
from fairlead_worker.solo import Room, Solo

STARTED = Entry(slot=0, job_id=1, token=101, started_us=1, deadline_us=2, flags=THREAD)
STOPPED = Stopped("it was time")


class Said(Child):
    """A child without a process, which notes what it is told."""

    def __init__(self) -> None:
        self.ready = False
        self.said: list[wire.ToChild] = []
        self.runs: tuple[Entry, ...] = ()
        self.ends: list[float] = []

    @property
    def pid(self) -> int:
        """No process has this id."""
        return 0

    def say(self, message: wire.ToChild) -> None:
        """Note it."""
        self.said.append(message)

    def running(self) -> tuple[Entry, ...]:
        """Return what it was made to run."""
        return self.runs

    def end(self, cause: Cause, *, within_seconds: float = 0.0) -> None:
        """Note it."""
        self.cause = cause
        self.ends.append(within_seconds)


class Stage:
    """A sender, the jobs that it hands over, and the children that were started for them."""

    def __init__(
        self, jobs: Iterable[int] = (1, 2), *, processes: int = 1, places: int = 100
    ) -> None:
        self.sender = Said()
        self.children: list[Said] = []
        self.solo = Solo(self._start, Room(processes=processes, places=places))
        self.take(jobs)

    def take(self, jobs: Iterable[int]) -> None:
        """Hand jobs over."""
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

    def bury(self, started: tuple[Entry, ...], cause: Cause) -> tuple[Ending, ...]:
        """Let the process die that was started last."""
        return self.solo.bury(self.children[-1], started, cause)

    def lent(self) -> int:
        """Return how many of the sender's slots are lent."""
        return len(self.solo.tokens) - self.solo.slotless

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
    assert frozenset({102}) == stage.solo.tokens


def test_what_waits_gives_its_slot_back_and_what_runs_keeps_one(stage: Stage) -> None:
    """Other jobs run in the slots that jobs would wait in."""
    stage.ready()
    assert [wire.Settled(1, 101)] == stage.sender.said

    stage.ended(1)
    assert [wire.Settled(1, 101)] == stage.sender.said

    stage.ended(2)
    assert [wire.Settled(1, 101), wire.Settled(2, 102)] == stage.sender.said


def test_what_waits_beyond_the_room_keeps_its_slots() -> None:
    """Where processes die faster than their jobs are run alone, fewer jobs are claimed."""
    stage = Stage(range(1, 11), processes=2, places=3)

    stage.ready()

    assert (3, 2 + 5) == (stage.solo.slotless, stage.lent())


def test_the_slots_of_a_child_that_died_are_not_given_back(stage: Stage) -> None:
    """They died with it; what is lent next stands for them."""
    stage.ready()
    stage.solo.bereave(stage.sender)
    assert 2 == stage.solo.slotless

    stage.sender = Said()
    stage.take([3])
    stage.solo.next(0.0)

    assert [] == stage.sender.said
    assert 2 == stage.solo.slotless


def test_processes_run_jobs_side_by_side_and_start_one_by_one() -> None:
    """A long job does not hold up the others; short ones are done before more can start."""
    stage = Stage(range(1, 6), processes=3)
    first = stage.ready()
    stage.solo.next(0.0)
    assert 2 == len(stage.children)
    second, third = stage.ready(), stage.ready()

    stage.solo.next(0.0)

    said = [child.said for child in (first, second, third)]
    assert [[wire.Take(1, 101)], [wire.Take(2, 102)], [wire.Take(3, 103)]] == said
    assert 3 == len(stage.children)
    assert 3 == stage.lent()
    stage.ended(2)
    assert wire.Take(4, 104) == second.said[-1]


def test_a_death_is_told_of_the_job_that_ran_in_that_process() -> None:
    """Whatever runs alone in another one goes on."""
    stage = Stage(range(1, 3), processes=2)
    first = stage.ready()
    stage.ready()

    (ending,) = stage.solo.bury(first, (STARTED,), Died(-9))

    assert (1, "crashed") == (ending.job_id, ending.ended_as)
    assert frozenset({102}) == stage.solo.tokens


def test_what_needs_a_fresh_process_waits_while_others_go_on() -> None:
    """Only the process that declined it is replaced."""
    stage = Stage(range(1, 4), processes=2)
    first = stage.ready()
    second = stage.ready()
    stage.ended(1)
    stage.solo.declined(wire.Declined(3, 103), 0.0)
    stage.take([4])
    stage.ended(2)
    assert [wire.Take(2, 102), wire.Take(4, 104)] == second.said
    assert [] == second.ends

    stage.solo.bury(first, (), STOPPED)

    assert [wire.Take(3, 103)] == stage.ready().said


def test_jobs_that_need_fresh_processes_get_one_each() -> None:
    """They go first, so that no other job uses one up."""
    stage = Stage(range(1, 5), processes=2)
    first = stage.ready()
    second = stage.ready()
    stage.ended(1)
    stage.solo.declined(wire.Declined(3, 103), 0.0)
    stage.ended(2)
    stage.solo.declined(wire.Declined(4, 104), 0.0)
    stage.solo.bury(first, (), STOPPED)
    stage.take([5])
    third = stage.ready()
    assert [wire.Take(4, 104)] == third.said
    stage.solo.bury(second, (), STOPPED)

    assert [wire.Take(3, 103)] == stage.ready().said


def test_what_waits_is_withdrawn_when_it_is_cancelled(stage: Stage) -> None:
    """It may wait for long, and needs no process to end."""
    stage.ready()

    withdrawn = stage.solo.withdraw(frozenset({101, 102}))

    assert [(2, "returned")] == [(each.job_id, each.ended_as) for each in withdrawn]
    assert frozenset({101}) == stage.solo.tokens


def test_a_process_is_replaced_after_so_many_jobs() -> None:
    """What jobs leave behind must not add up."""
    stage = Stage(range(1, seat.JOBS_MAX + 2))
    child = stage.ready()
    for job_id in range(1, seat.JOBS_MAX + 1):
        stage.ended(job_id)
    assert wire.Drain() == child.said[-1]
    assert child.ends

    assert () == stage.bury((), STOPPED)
    fresh = stage.ready()

    last = seat.JOBS_MAX + 1
    assert [wire.Take(last, 100 + last)] == fresh.said


def test_a_process_that_has_had_no_job_for_a_while_ends(stage: Stage) -> None:
    """It holds an application's memory."""
    child = stage.ready()
    stage.ended(1)
    stage.ended(2, now=50.0)
    stage.solo.next(49.9 + seat.IDLE_SECONDS)
    assert wire.Drain() not in child.said

    stage.solo.next(50.0 + seat.IDLE_SECONDS)

    assert wire.Drain() == child.said[-1]


def test_a_process_that_took_long_to_load_runs_what_waited_for_it(stage: Stage) -> None:
    """It had no job for a while, and is wanted all the same."""
    stage.solo.next(0.0)

    child = stage.ready(now=10 * seat.IDLE_SECONDS)

    assert [wire.Take(1, 101)] == child.said


def test_a_job_that_was_declined_is_the_first_one_of_a_fresh_process(stage: Stage) -> None:
    """What an earlier job left behind must not count against one that died alone before."""
    child = stage.ready()
    stage.ended(1)
    stage.solo.declined(wire.Declined(2, 102), 0.0)
    stage.solo.next(0.0)
    assert wire.Drain() == child.said[-1]
    assert () == stage.bury((), STOPPED)

    fresh = stage.ready()

    assert [wire.Take(2, 102)] == fresh.said


def test_a_job_that_does_not_begin_is_returned_with_a_fresh_process(stage: Stage) -> None:
    """An earlier job may have left something that keeps the process from beginning it."""
    child = stage.ready()
    stage.solo.next(seat.BEGIN_SECONDS - 0.1)
    assert [] == child.ends

    stage.solo.next(seat.BEGIN_SECONDS)

    assert child.ends
    (ending,) = stage.bury((), STOPPED)
    assert (1, "returned") == (ending.job_id, ending.ended_as)


def test_a_job_that_has_begun_may_take_its_time(stage: Stage) -> None:
    """Its own deadline bounds it."""
    child = stage.ready()
    child.runs = (STARTED,)

    stage.solo.next(10 * seat.BEGIN_SECONDS)

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
    stage: Stage, started: tuple[Entry, ...], cause: Cause, expected: list[str]
) -> None:
    """What waits behind it is not to blame, and is run by the next process."""
    stage.ready()

    endings = stage.bury(started, cause)

    assert expected == [each.ended_as for each in endings]
    assert frozenset({102}) == stage.solo.tokens
    assert [wire.Take(2, 102)] == stage.ready().said


def test_a_death_between_two_jobs_is_nobodys_fault() -> None:
    """No attempt ran, so none has crashed."""
    stage = Stage([1])
    stage.ready()
    stage.ended(1)

    assert () == stage.bury((), Died(-9))


def test_a_process_that_dies_before_it_is_ready_lets_the_job_rest(stage: Stage) -> None:
    """A machine that cannot start children must not try one job without end."""
    stage.solo.next(0.0)

    (ending,) = stage.bury((), Died(1))

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
