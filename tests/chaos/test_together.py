"""A worker dies together with the process that detects it; its jobs still run again soon."""

from time import time

from fairlead_cli.dev.postgres import Server
from tests.chaos import records
from tests.chaos.fleet import BUSY_RECOVERY_SECONDS, Fleet, Program
from tests.chaos.history import Resets
from tests.support.waiting import until


def begin_on_one(fleet: Fleet) -> tuple[Program, set[int]]:
    """Have one worker run jobs for some seconds, and another one stand by."""
    victim, other = fleet.worker("victim"), fleet.worker("other")
    kinds = ("nap", "grind", "book", "book_async", "book_apart")
    with other.frozen():
        jobs = {job for kind in kinds for job in fleet.insert(kind, 6000)}
        until(lambda: fleet.jobs_of(victim) == jobs, what="every start", seconds=20)
    return victim, jobs


def recovery_seconds(fleet: Fleet, pids: tuple[int, ...], died_at: float, back: float) -> float:
    """Return how long the restarts took from the death, `back` or the last take-over on."""
    with fleet.connect() as db:
        resets = Resets((back, *records.take_overs(db)))
    return fleet.recovery_seconds(pids, died_at, resets=resets)


def test_a_worker_that_dies_with_the_leader_is_recovered_from(some_fleet: Fleet) -> None:
    """Soon after the take-over, its jobs run again."""
    fleet = some_fleet
    leader = fleet.scheduler("first")
    until(lambda: fleet.leader_pid() == leader.pid, what="a leader", seconds=15)
    fleet.scheduler("second")
    victim, jobs = begin_on_one(fleet)

    leader.kill()
    pids, died_at = victim.kill(), time()
    fleet.wait_until_done(30)

    assert fleet.violations().is_empty, fleet.violations()
    assert {"other"} == fleet.finishers(jobs)
    assert 0 < recovery_seconds(fleet, pids, died_at, died_at) <= BUSY_RECOVERY_SECONDS


def test_a_worker_that_dies_with_the_server_is_recovered_from(
    own_fleet: Fleet, own_server: Server
) -> None:
    """Soon after the server's restart, its jobs run again."""
    fleet = own_fleet
    fleet.scheduler()
    victim, jobs = begin_on_one(fleet)

    own_server.kill()
    pids, died_at = victim.kill(), time()
    own_server.start()
    back_at = time()
    fleet.wait_until_done(30)

    assert fleet.violations().is_empty, fleet.violations()
    assert {"other"} == fleet.finishers(jobs)
    assert 0 < recovery_seconds(fleet, pids, died_at, back_at) <= BUSY_RECOVERY_SECONDS
