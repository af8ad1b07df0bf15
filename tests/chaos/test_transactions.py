"""Handlers that finish their jobs in their own transactions, or run in their own processes."""

import json
import random
import signal
from pathlib import Path

from tests.chaos.app import HELD_VARIABLE, TRANSACTIONAL
from tests.chaos.fleet import Fleet, Program, send
from tests.support.waiting import until

_PLAIN = ("nap", "grind", "deaf", "crunch")


def stale(worker: Program) -> set[int]:
    """Return the jobs of which a worker logged a stale ending."""
    lines = worker.log.read_text("utf-8").splitlines()
    said = [json.loads(each) for each in lines if '"attempt.stale"' in each and each[-1] == "}"]
    return {int(each["job"]) for each in said}


def held_worker(fleet: Fleet, name: str) -> tuple[Program, Path]:
    """Start a worker; no handler of it ends its work until the file that is returned exists."""
    path = fleet.folder / f"{name}.may_end"
    fleet.environment = {HELD_VARIABLE: str(path)}
    return fleet.worker(name), path


def test_what_a_frozen_worker_did_changes_nothing_even_when_it_is_not_stopped(
    some_fleet: Fleet,
) -> None:
    """A write with an old token changes nothing; in a handler's own transaction it raises.

    The worker's parent stays frozen until its handlers have ended, so that nothing but their
    tokens keeps their endings, and the work of their transactions, from counting. Those of the
    other worker go on until then.
    """
    fleet = some_fleet
    fleet.scheduler()
    frozen, frozen_may_end = held_worker(fleet, "frozen")
    other, other_may_end = held_worker(fleet, "other")
    fleet.await_lead()
    with other.frozen():
        booked = {job for kind in sorted(TRANSACTIONAL) for job in fleet.insert(kind, 1)}
        plain = {job for kind in _PLAIN for job in fleet.insert(kind, 1)}
        jobs = booked | plain
        until(lambda: fleet.jobs_of(frozen) == jobs, what="every start", seconds=20)

    process_tree = frozen.freeze()
    until(lambda: fleet.jobs_of(other) == jobs, what="the theft", seconds=20)
    frozen_may_end.touch()
    send(signal.SIGCONT, process_tree[1:])
    until(
        lambda: fleet.jobs_with("refused", process_tree) == booked, what="refusing transactions"
    )
    until(lambda: stale(frozen) == jobs, what="counting stale endings")
    unfinished = {*fleet.unfinished()}
    other_may_end.touch()
    frozen.thaw()
    fleet.wait_until_done(20)

    assert jobs == unfinished
    assert fleet.violations().is_empty, fleet.violations()
    assert {"other"} == fleet.finishers(jobs)


def test_a_handlers_process_that_is_killed_costs_one_attempt_of_its_own_job(
    some_fleet: Fleet, chance: random.Random
) -> None:
    """A process has one handler: its death is a crash of one job, and its work is undone."""
    fleet = some_fleet
    fleet.scheduler()
    worker = fleet.worker()
    apart = fleet.insert("book_apart", 3000, 2) + fleet.insert("crunch", 3000, 2)
    beside = fleet.insert("nap", 3000, 2) + fleet.insert("book", 3000, 2)
    fleet.await_starts(apart + beside, 8)

    victim = chance.choice([each for each in fleet.events() if each.job in apart])
    send(signal.SIGKILL, [victim.pid])
    fleet.wait_until_done(30)

    starts = [each.job for each in fleet.events() if each.event == "started"]
    assert fleet.violations().is_empty, fleet.violations()
    assert sorted([*apart, *beside, victim.job]) == sorted(starts)
    assert 1 == len(fleet.errors("crashed"))
    assert [] == fleet.errors("lost") + fleet.errors("failed")
    assert worker.process.poll() is None
    assert not worker.said("child.died")
