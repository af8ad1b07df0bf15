"""Workers die, freeze and stop at random instants; no job is lost, doubled or overwritten."""

import os
import random
import signal
from math import inf
from time import time

import pytest

from tests.chaos.fleet import BUSY_RECOVERY_SECONDS, Fleet, Program, alive, send
from tests.chaos.history import find_cut_short
from tests.support.waiting import until

_MIXTURE = (
    ("nap", 40, 60),
    ("grind", 15, 60),
    ("nap", 400, 16),
    ("book", 30, 30),
    ("book_async", 200, 16),
    ("book_apart", 100, 3),
    ("crunch", 200, 3),
)
"""Kinds, with how many milliseconds a job takes and how many jobs there are at most."""
_HAND_BACK_SECONDS = 2.0
"""Within so long of a child's death its parent has handed back what ran in it: no lease is as
short."""


def begin_a_mixture(fleet: Fleet, chance: random.Random) -> None:
    """Insert short and longer jobs of every kind, and wait until some have started."""
    jobs: tuple[int, ...] = ()
    for kind, milliseconds, most in _MIXTURE:
        jobs += fleet.insert(kind, milliseconds, chance.randrange(most // 3, most))
    fleet.await_starts(jobs, chance.randrange(1, len(jobs)))


def begin_on(fleet: Fleet, worker: Program) -> int:
    """Insert jobs of a second, more than others have slots for; return a pid with one."""
    long = fleet.insert("nap", 1000, 16)

    def begun() -> list[int]:
        starts = fleet.started(worker.process_tree())
        return [each.pid for each in starts if each.job in long]

    return until(begun, what=f"a start in {worker.name}", seconds=20)[-1]


def hand_back_seconds(fleet: Fleet, pid: int, died_at: float) -> float:
    """Return how long it took until all that ran in a process was handed back, however judged.

    Infinity when something was not; 0 when nothing ran.
    """
    timed = [each for each in fleet.events() if each.job not in fleet.apart]
    tokens = find_cut_short(timed, pids=[pid], died_at=died_at, ended=fleet.ended()).values()
    with fleet.connect() as connection:
        rows = connection.execute(
            "SELECT token, extract(epoch FROM at)::float8 FROM fairlead.attempt_errors"
            " WHERE ended_as IN ('crashed', 'released') AND token = ANY (%s)",
            [[*tokens]],
        ).fetchall()
    handed_back_at: dict[int, float] = dict(rows)
    return max((handed_back_at.get(each, inf) - died_at for each in tokens), default=0.0)


def test_workers_that_are_killed_lose_no_job(some_fleet: Fleet, chance: random.Random) -> None:
    """SIGKILL of workers at random instants: everything runs to its one end, soon."""
    fleet = some_fleet
    fleet.scheduler()
    workers = [fleet.worker(f"worker-{number}") for number in range(2)]
    fleet.await_lead()
    deaths: list[tuple[tuple[int, ...], float]] = []
    for number in range(3):
        begin_a_mixture(fleet, chance)
        victim = workers.pop(chance.randrange(len(workers)))
        begin_on(fleet, victim)
        deaths.append((victim.kill(), time()))
        workers.append(fleet.worker(f"worker-{number + 2}"))

    fleet.wait_until_done(30)

    assert fleet.violations().is_empty, fleet.violations()
    slowest = max(fleet.recovery_seconds(pids, at) for pids, at in deaths)
    assert 0 < slowest <= BUSY_RECOVERY_SECONDS


def test_children_that_are_killed_are_cleaned_up_after_at_once(
    some_fleet: Fleet, chance: random.Random
) -> None:
    """The parent hands back what a dead child held, without waiting for any lease.

    So it does whoever is suspected: what is not runs again as released, not as crashed.
    """
    fleet = some_fleet
    fleet.scheduler()
    worker = fleet.worker(concurrency=2, more="--processes 2")
    deaths: list[tuple[int, float]] = []
    for _ in range(2):
        begin_a_mixture(fleet, chance)
        victim = begin_on(fleet, worker)
        deaths.append((victim, time()))
        os.kill(victim, signal.SIGKILL)

    fleet.wait_until_done(40)

    assert fleet.violations().is_empty, fleet.violations()
    assert [] == fleet.errors("lost")
    handed_back = [hand_back_seconds(fleet, pid, at) for pid, at in deaths]
    assert all(0 < seconds < _HAND_BACK_SECONDS for seconds in handed_back)
    again = [fleet.recovery_seconds((pid,), at) for pid, at in deaths]
    assert all(0 < seconds <= BUSY_RECOVERY_SECONDS for seconds in again)


@pytest.mark.parametrize("whole", [True, False], ids=["all of it", "its parent alone"])
def test_a_worker_that_was_frozen_past_its_lease_stops_its_handlers_and_changes_nothing(
    some_fleet: Fleet, *, whole: bool
) -> None:
    """SIGSTOP past the lease, then SIGCONT: the jobs ran elsewhere, its own writes are void."""
    fleet = some_fleet
    fleet.scheduler()
    workers = [fleet.worker("one"), fleet.worker("two")]
    fleet.await_lead()
    fleet.insert("nap", 6500, 2)
    fleet.insert("grind", 6500, 2)
    until(lambda: len(fleet.events()) == 4, what="four starts")
    workers.sort(key=lambda worker: len(fleet.jobs_of(worker)))
    other, frozen = workers

    process_tree, frozen_at = frozen.process_tree(), time()
    send(signal.SIGSTOP, process_tree if whole else process_tree[:1])
    held = {each.job for each in fleet.started(process_tree)}
    until(lambda: held <= fleet.jobs_of(other), what="the theft", seconds=15)
    frozen.thaw()
    until(
        lambda: fleet.jobs_with("stop_requested", process_tree) == held,
        what="the request to stop in each handler",
    )
    fleet.wait_until_done(20)

    assert held
    assert fleet.violations().is_empty, fleet.violations()
    assert fleet.recovery_seconds(process_tree, frozen_at) <= BUSY_RECOVERY_SECONDS
    assert {other.name} == fleet.finishers(held)


def test_a_worker_that_is_stopped_releases_what_runs_longer_than_its_grace(
    some_fleet: Fleet,
) -> None:
    """SIGTERM during long jobs: short ones finish, long ones are released unpunished."""
    fleet = some_fleet
    fleet.scheduler()
    worker = fleet.worker("stopped", more="--grace-seconds 1.5")
    long = fleet.insert("deaf", 4000, 2) + fleet.insert("nap", 4000, 2)
    short = fleet.insert("nap", 900, 2)
    until(lambda: len(fleet.started(worker.process_tree())) == 6, what="six starts")

    exit_code = worker.stop()

    released = fleet.attempts(long)
    assert 0 == exit_code
    assert {*long} == {*fleet.unfinished()}
    assert {(0, 0, 0)} == {*released.values()}
    fleet.worker("next")
    fleet.wait_until_done(20)
    assert fleet.violations().is_empty, fleet.violations()
    assert {"stopped"} == fleet.finishers(short)
    assert {"next"} == fleet.finishers(long)


def test_a_second_signal_releases_at_once(some_fleet: Fleet) -> None:
    """A person who presses Ctrl-C twice does not wait for the grace."""
    fleet = some_fleet
    fleet.scheduler()
    worker = fleet.worker(more="--grace-seconds 60")
    jobs = fleet.insert("deaf", 30_000) + fleet.insert("nap", 30_000)
    until(lambda: len(fleet.started(worker.process_tree())) == 2, what="two starts")

    worker.process.send_signal(signal.SIGINT)
    until(lambda: worker.said("worker.draining"), what="draining")
    began = time()
    worker.process.send_signal(signal.SIGINT)
    exit_code = worker.process.wait(10)

    assert 0 == exit_code
    assert time() - began < 5
    assert {(0, 0, 0)} == {*fleet.attempts(jobs).values()}


def test_children_do_not_outlive_a_killed_parent(some_fleet: Fleet) -> None:
    """Nothing runs on when the parent is gone, not even what lets nothing else run."""
    fleet = some_fleet
    fleet.scheduler()
    worker = fleet.worker()
    fleet.insert("hog", 0)
    until(lambda: fleet.started(worker.process_tree()), what="a start")

    process_tree = worker.kill()

    until(lambda: not alive(process_tree), what="the children's end", seconds=3)
