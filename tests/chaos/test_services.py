"""The leader, the server and the connections fail; the queue goes on where it was."""

import random
import signal
from time import time

from fairlead.dev import processes
from fairlead.dev.postgres import Server
from tests.chaos.fleet import (
    LEASE_SECONDS,
    RECOVERY_SECONDS,
    Fleet,
    Program,
    alive,
    send,
)
from tests.support.waiting import until

TAKE_OVER_SECONDS = 4.0


def leading(fleet: Fleet, schedulers: list[Program]) -> Program:
    """Return the scheduler that leads, once one does."""

    def found() -> Program | None:
        pid = fleet.leader_pid()
        return next((each for each in schedulers if each.pid == pid), None)

    return until(found, what="a leader", seconds=15)


def test_a_killed_leader_is_followed_within_four_seconds(
    some_fleet: Fleet, chance: random.Random
) -> None:
    """A crash of the leader: another one dispatches within about four seconds."""
    fleet = some_fleet
    schedulers = [fleet.scheduler("first")]
    leader = leading(fleet, schedulers)
    schedulers.append(fleet.scheduler("second"))
    fleet.worker()
    fleet.await_starts(fleet.insert("nap", 20, 200), chance.randrange(1, 100))

    died_at = time()
    leader.kill()
    late = fleet.insert("nap", 20, 50)
    until(lambda: fleet.first_start(late) < float("inf"), what="a dispatch", seconds=10)
    fleet.wait_until_done(20)

    assert fleet.verdict().clean, fleet.verdict()
    assert fleet.first_start(late) - died_at <= TAKE_OVER_SECONDS


def test_a_frozen_leader_changes_nothing_when_it_thaws(
    some_fleet: Fleet, chance: random.Random
) -> None:
    """A zombie leader's plans are refused, and it stands by again."""
    fleet = some_fleet
    schedulers = [fleet.scheduler("first")]
    leader = leading(fleet, schedulers)
    schedulers.append(fleet.scheduler("second"))
    fleet.worker()
    fleet.await_starts(fleet.insert("nap", 20, 200), chance.randrange(1, 100))

    leader.freeze()
    late = fleet.insert("nap", 20, 50)
    until(lambda: fleet.first_start(late) < float("inf"), what="a dispatch", seconds=10)
    leader.thaw()
    more = fleet.insert("nap", 20, 100)
    fleet.wait_until_done(20)

    assert fleet.verdict().clean, fleet.verdict()
    assert 100 == len({each.job for each in fleet.events() if each.job in more})
    assert leader.process.poll() is None


def test_a_server_that_is_killed_under_load_loses_nothing(
    own_fleet: Fleet, own_server: Server, chance: random.Random
) -> None:
    """Kill -9 of PostgreSQL: what was committed stands, and everything goes on."""
    fleet = own_fleet
    fleet.scheduler()
    fleet.worker("one")
    fleet.worker("two")
    for _ in range(2):
        jobs = fleet.insert("nap", 30, 150) + fleet.insert("grind", 300, 20)
        fleet.await_starts(jobs, chance.randrange(1, 80))
        own_server.kill()
        own_server.start()
        back_at = time()
        late = fleet.insert("nap", 10, 10)
        until(lambda late=late: fleet.first_start(late) < float("inf"), what="a start")  # type: ignore[misc]  # mypy cannot infer a lambda with a default
        assert fleet.first_start(late) - back_at <= RECOVERY_SECONDS

    fleet.wait_until_done(30)

    assert fleet.verdict().clean, fleet.verdict()


def test_a_server_that_freezes_costs_leases_and_no_job(
    own_fleet: Fleet, own_server: Server
) -> None:
    """Handlers run while the lease can be trusted, and not a moment after it has ended."""
    fleet = own_fleet
    fleet.scheduler()
    worker = fleet.worker()
    jobs = fleet.insert("grind", 12_000, 2) + fleet.insert("nap", 12_000, 2)
    until(lambda: len(fleet.jobs_of(worker)) == 4, what="four starts")
    family = worker.family()

    server = own_server.pid
    assert server is not None
    backends = (server, *processes.children(server))
    send(signal.SIGSTOP, backends)
    frozen_at = time()
    try:
        until(lambda: fleet.told(family) == {*jobs}, what="telling the handlers")
        told_at = max(each.at for each in fleet.events() if each.event == "told")
        until(lambda: not alive(family[1:]), what="the children's end")
    finally:
        send(signal.SIGCONT, backends)
    with fleet.connect() as db:
        db.execute("UPDATE fairlead.jobs SET payload = '{\"ms\": 10}'")
    fleet.wait_until_done(20)

    assert told_at - frozen_at < LEASE_SECONDS
    assert fleet.verdict().clean, fleet.verdict()
    assert worker.process.poll() is None


def test_terminated_connections_cost_no_job_an_attempt(
    some_fleet: Fleet, chance: random.Random
) -> None:
    """pg_terminate_backend on every kind of connection, twice: no lease and no job is lost."""
    fleet = some_fleet
    fleet.scheduler()
    fleet.worker()
    kinds = until(fleet.connection_kinds, what="connections")
    until(lambda: len(fleet.connection_kinds()) >= 5, what="every kind of connection")
    for kind in chance.sample(sorted(fleet.connection_kinds() | kinds) * 2, k=10):
        fleet.await_starts(fleet.insert("nap", 30, 30), chance.randrange(1, 20))
        fleet.terminate(kind)

    fleet.wait_until_done(30)

    assert fleet.verdict().clean, fleet.verdict()
    assert [] == fleet.errors("lost") + fleet.errors("crashed")
