"""A few quarantine processes run suspect jobs, one at a time each."""

from collections.abc import Iterable

import pytest

from fairlead_worker.ipc import messages
from fairlead_worker.ipc.attempt_table import THREAD, AttemptEntry
from fairlead_worker.ipc.interruptions import Cause, Died, Fenced, Interruption, Stopped
from fairlead_worker.ipc.source import Source
from fairlead_worker.parent import quarantine_process
from fairlead_worker.parent.child_handle import ChildHandle
from fairlead_worker.parent.quarantine import Quarantine, QuarantineCapacity

STARTED = AttemptEntry(slot=0, job_id=1, token=101, started_us=1, deadline_us=2, flags=THREAD)
STOPPED = Stopped("it was time")


class FakeChild(ChildHandle):
    """A child without a process, which records what it is sent."""

    def __init__(self) -> None:
        self.ready = self.claiming = self.idle = self.hung_up = False
        self.slotless = 0
        self.cause: Cause | None = None
        self.sent: list[messages.ToChild] = []
        self.runs: tuple[AttemptEntry, ...] = ()
        self.ends: list[float] = []

    @property
    def pid(self) -> int:
        """No process has this id."""
        return 0

    def send(self, message: messages.ToChild) -> None:
        """Note it."""
        self.sent.append(message)

    def running(self) -> tuple[AttemptEntry, ...]:
        """Return what it was made to run."""
        return self.runs

    def end(self, cause: Cause, *, within_seconds: float = 0.0) -> None:
        """Note it."""
        self.cause = cause
        self.ends.append(within_seconds)


class Scenario:
    """A sender, the jobs that it hands over, and the children that were started for them."""

    def __init__(
        self,
        jobs: Iterable[int] = (1, 2),
        *,
        processes: int = 1,
        waiting_without_slots: int = 100,
    ) -> None:
        self.sender = FakeChild()
        self.children: list[FakeChild] = []
        self.quarantine = Quarantine(
            self._start,
            QuarantineCapacity(
                processes=processes, waiting_without_slots=waiting_without_slots
            ),
        )
        self.take(jobs)

    def take(
        self,
        jobs: Iterable[int],
        source: Source = ("mail", "ann"),
        *,
        suspect: bool = True,
        gated: bool = False,
    ) -> None:
        """Hand jobs over."""
        for job_id in jobs:
            message = messages.NeedsQuarantine(job_id, 100 + job_id, source, suspect, gated)
            self.quarantine.take(message, self.sender)

    def _start(self) -> ChildHandle:
        self.children.append(FakeChild())
        return self.children[-1]

    def ready(self, now: float = 0.0) -> FakeChild:
        """Start a child, let it be ready, and give it its first job; return it."""
        self.quarantine.advance(now)
        child = self.children[-1]
        child.ready = True
        self.quarantine.advance(now)
        return child

    def die(self, started: tuple[AttemptEntry, ...], cause: Cause) -> tuple[Interruption, ...]:
        """Let the process die that was started last."""
        return self.quarantine.process_died(self.children[-1], started, cause)

    def lent(self) -> int:
        """Return how many of the sender's slots are lent."""
        return len(self.quarantine.tokens) - self.quarantine.slotless

    def ended(self, job_id: int, now: float = 0.0) -> None:
        """Let a job end, and have the next one run."""
        self.quarantine.ended(messages.SuspectEnded(job_id, 100 + job_id), now)
        self.quarantine.advance(now)


@pytest.fixture
def scenario() -> Scenario:
    """Return two jobs that wait."""
    return Scenario()


def test_the_next_job_is_given_when_the_last_one_has_ended(scenario: Scenario) -> None:
    """One job at a time: a death has one to blame."""
    child = scenario.ready()
    assert [messages.RunSuspect(1, 101)] == child.sent

    scenario.ended(1)

    assert [messages.RunSuspect(1, 101), messages.RunSuspect(2, 102)] == child.sent
    assert frozenset({102}) == scenario.quarantine.tokens


def test_what_waits_gives_its_slot_back_and_what_runs_keeps_one(scenario: Scenario) -> None:
    """Other jobs run in the slots that jobs would wait in."""
    scenario.ready()
    assert [messages.SlotReturned(1, 101)] == scenario.sender.sent

    scenario.ended(1)
    assert [messages.SlotReturned(1, 101)] == scenario.sender.sent

    scenario.ended(2)
    assert [
        messages.SlotReturned(1, 101),
        messages.SlotReturned(2, 102),
    ] == scenario.sender.sent


def test_the_slots_of_a_child_that_died_are_not_given_back(scenario: Scenario) -> None:
    """They died with it; what is lent next stands for them."""
    scenario.ready()
    scenario.quarantine.sender_died(scenario.sender)
    assert 2 == scenario.quarantine.slotless

    scenario.sender = FakeChild()
    scenario.take([3])
    scenario.quarantine.advance(0.0)

    assert [] == scenario.sender.sent
    assert 2 == scenario.quarantine.slotless


def test_processes_run_jobs_side_by_side_and_start_one_by_one() -> None:
    """A long job does not hold up the others; short ones are done before more can start."""
    scenario = Scenario(range(1, 6), processes=3)
    first = scenario.ready()
    scenario.quarantine.advance(0.0)
    assert 2 == len(scenario.children)
    second, third = scenario.ready(), scenario.ready()

    scenario.quarantine.advance(0.0)

    sent = [child.sent for child in (first, second, third)]
    assert [
        [messages.RunSuspect(1, 101)],
        [messages.RunSuspect(2, 102)],
        [messages.RunSuspect(3, 103)],
    ] == sent
    assert 3 == len(scenario.children)
    assert 3 == scenario.lent()
    scenario.ended(2)
    assert messages.RunSuspect(4, 104) == second.sent[-1]


def test_a_death_interrupts_only_the_job_that_ran_in_that_process() -> None:
    """What runs in another one goes on."""
    scenario = Scenario(range(1, 3), processes=2)
    first = scenario.ready()
    scenario.ready()

    (ending,) = scenario.quarantine.process_died(first, (STARTED,), Died(-9))

    assert (1, "crashed") == (ending.job_id, ending.ended_as)
    assert frozenset({102}) == scenario.quarantine.tokens


def test_what_needs_a_fresh_process_waits_while_others_go_on() -> None:
    """Only the process that declined it is replaced."""
    scenario = Scenario(range(1, 4), processes=2)
    first = scenario.ready()
    second = scenario.ready()
    scenario.ended(1)
    scenario.quarantine.declined(messages.SuspectDeclined(3, 103), 0.0)
    scenario.take([4])
    scenario.ended(2)
    assert [messages.RunSuspect(2, 102), messages.RunSuspect(4, 104)] == second.sent
    assert [] == second.ends

    scenario.quarantine.process_died(first, (), STOPPED)

    assert [messages.RunSuspect(3, 103)] == scenario.ready().sent


def test_jobs_that_need_fresh_processes_get_one_each() -> None:
    """They go first, so that no other job uses one up."""
    scenario = Scenario(range(1, 5), processes=2)
    first = scenario.ready()
    second = scenario.ready()
    scenario.ended(1)
    scenario.quarantine.declined(messages.SuspectDeclined(3, 103), 0.0)
    scenario.ended(2)
    scenario.quarantine.declined(messages.SuspectDeclined(4, 104), 0.0)
    scenario.quarantine.process_died(first, (), STOPPED)
    scenario.take([5])
    third = scenario.ready()
    assert [messages.RunSuspect(4, 104)] == third.sent
    scenario.quarantine.process_died(second, (), STOPPED)

    assert [messages.RunSuspect(3, 103)] == scenario.ready().sent


def test_what_waits_is_withdrawn_when_it_is_cancelled(scenario: Scenario) -> None:
    """It may wait for long, and needs no process to end."""
    scenario.ready()

    withdrawn = scenario.quarantine.withdraw(frozenset({101, 102}))

    assert [(2, "returned")] == [(each.job_id, each.ended_as) for each in withdrawn]
    assert frozenset({101}) == scenario.quarantine.tokens


def test_a_process_is_replaced_after_so_many_jobs() -> None:
    """What jobs leave behind must not add up."""
    scenario = Scenario(range(1, quarantine_process.JOBS_MAX + 2))
    child = scenario.ready()
    for job_id in range(1, quarantine_process.JOBS_MAX + 1):
        scenario.ended(job_id)
    assert messages.Drain() == child.sent[-1]
    assert child.ends

    assert () == scenario.die((), STOPPED)
    is_fresh = scenario.ready()

    last = quarantine_process.JOBS_MAX + 1
    assert [messages.RunSuspect(last, 100 + last)] == is_fresh.sent


def test_a_process_that_has_had_no_job_for_a_while_ends(scenario: Scenario) -> None:
    """It holds an application's memory."""
    child = scenario.ready()
    scenario.ended(1)
    scenario.ended(2, now=50.0)
    scenario.quarantine.advance(49.9 + quarantine_process.IDLE_SECONDS)
    assert messages.Drain() not in child.sent

    scenario.quarantine.advance(50.0 + quarantine_process.IDLE_SECONDS)

    assert messages.Drain() == child.sent[-1]


def test_a_process_that_took_long_to_load_runs_what_waited_for_it(scenario: Scenario) -> None:
    """It had no job for a while, and is wanted all the same."""
    scenario.quarantine.advance(0.0)

    child = scenario.ready(now=10 * quarantine_process.IDLE_SECONDS)

    assert [messages.RunSuspect(1, 101)] == child.sent


def test_a_job_that_was_declined_is_the_first_one_of_a_fresh_process(
    scenario: Scenario,
) -> None:
    """What an earlier job left must not count against one that died in quarantine before."""
    child = scenario.ready()
    scenario.ended(1)
    scenario.quarantine.declined(messages.SuspectDeclined(2, 102), 0.0)
    scenario.quarantine.advance(0.0)
    assert messages.Drain() == child.sent[-1]
    assert () == scenario.die((), STOPPED)

    is_fresh = scenario.ready()

    assert [messages.RunSuspect(2, 102)] == is_fresh.sent


def test_a_job_that_does_not_begin_is_returned_with_a_fresh_process(scenario: Scenario) -> None:
    """An earlier job may have left something that keeps the process from beginning it."""
    child = scenario.ready()
    scenario.quarantine.advance(quarantine_process.BEGIN_SECONDS - 0.1)
    assert [] == child.ends

    scenario.quarantine.advance(quarantine_process.BEGIN_SECONDS)

    assert child.ends
    (ending,) = scenario.die((), STOPPED)
    assert (1, "returned") == (ending.job_id, ending.ended_as)


def test_a_job_that_has_begun_may_take_its_time(scenario: Scenario) -> None:
    """Its own deadline bounds it."""
    child = scenario.ready()
    child.runs = (STARTED,)

    scenario.quarantine.advance(10 * quarantine_process.BEGIN_SECONDS)

    assert [] == child.ends


@pytest.mark.parametrize(
    ("started", "cause", "expected"),
    [
        ((STARTED,), Died(-11), ["crashed"]),
        ((), Died(-11), ["crashed"]),
        ((STARTED,), STOPPED, ["released"]),
        ((), STOPPED, ["returned"]),
        ((STARTED,), Fenced(), []),
        ((), Fenced(), []),
    ],
)
def test_a_death_is_counted_for_the_job_that_was_sent(
    scenario: Scenario, started: tuple[AttemptEntry, ...], cause: Cause, expected: list[str]
) -> None:
    """What waits behind it is not to blame, and is run by the next process."""
    scenario.ready()

    endings = scenario.die(started, cause)

    assert expected == [each.ended_as for each in endings]
    assert frozenset({102}) == scenario.quarantine.tokens
    assert [messages.RunSuspect(2, 102)] == scenario.ready().sent


def test_a_death_between_two_jobs_blames_no_job() -> None:
    """No attempt ran, so none has crashed."""
    scenario = Scenario([1])
    scenario.ready()
    scenario.ended(1)

    assert () == scenario.die((), Died(-9))


def test_a_process_that_dies_before_it_is_ready_lets_the_job_rest(scenario: Scenario) -> None:
    """A machine that cannot start children must not try one job without end."""
    scenario.quarantine.advance(0.0)

    (ending,) = scenario.die((), Died(1))

    assert (1, "snoozed") == (ending.job_id, ending.ended_as)
    assert frozenset({102}) == scenario.quarantine.tokens


def test_a_job_whose_deadline_is_being_extended_waits_for_a_moment(scenario: Scenario) -> None:
    """Stored as waiting after it has begun, it would not be blamed for a death."""
    child = scenario.ready()
    assert ((2, 102),) == scenario.quarantine.waiting()
    scenario.quarantine.ended(messages.SuspectEnded(1, 101), 0.0)

    scenario.quarantine.advance(0.0, excluded=frozenset({(2, 102)}))
    assert [messages.RunSuspect(1, 101)] == child.sent

    scenario.quarantine.advance(0.0)
    assert [messages.RunSuspect(1, 101), messages.RunSuspect(2, 102)] == child.sent


def test_a_source_that_runs_one_at_a_time_leaves_the_other_processes_to_others() -> None:
    """Its suspects wait; of its other jobs none waits beside one that is here."""
    bad = ("exit", "eve")
    scenario = Scenario((), processes=2)
    scenario.take((1, 2), bad, suspect=False)
    scenario.take((3,), bad)
    scenario.take((4,))

    surplus = scenario.quarantine.take_surplus(frozenset({bad}))
    first, second = scenario.ready(), scenario.ready()

    assert [1, 2] == sorted(job.job_id for job in surplus)
    assert [messages.RunSuspect(3, 103)] == first.sent
    assert [messages.RunSuspect(4, 104)] == second.sent
    assert frozenset({103, 104}) == scenario.quarantine.tokens


def test_what_is_taken_out_gives_its_slot_back() -> None:
    """A source with a long backlog keeps none of the worker's slots."""
    bad = ("exit", "eve")
    scenario = Scenario((), processes=1, waiting_without_slots=0)
    scenario.take(range(1, 6), bad, suspect=False)

    surplus = scenario.quarantine.take_surplus(frozenset({bad}))

    assert (4, 1, 0) == (len(surplus), scenario.lent(), scenario.quarantine.slotless)
    assert () == scenario.quarantine.take_surplus(frozenset())
