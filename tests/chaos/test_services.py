"""The leader, the server and the connections fail; the queue goes on where it was."""

import random
import signal
from functools import partial
from time import time
from urllib.parse import urlsplit

import pytest

from fairlead_cli.dev import process_table
from fairlead_cli.dev.postgres import Server
from tests.chaos import records
from tests.chaos.app import SESSIONS
from tests.chaos.fleet import (
    LEASE_SECONDS,
    RECOVERY_SECONDS,
    Fleet,
    alive,
    send,
)
from tests.chaos.misfortunes import leading
from tests.chaos.relay import relaying
from tests.support.schedulers import led
from tests.support.waiting import until
from tests.support.worker_children import children_of

TAKE_OVER_SECONDS = 4.0
_SLOW_SECONDS = 0.1
KINDS = {
    *(f"fairlead scheduler {name}" for name in ("lead", "loop", "sweeps")),
    *(f"fairlead scheduler {name}" for name in ("scans", "retention", "cron", "backlog")),
    *(f"fairlead worker {name}" for name in ("one", "claims", "endings")),
    SESSIONS,
}
"""Every kind of connection: a leader's, those of a worker called one, and its handlers'."""


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

    assert fleet.violations().is_empty, fleet.violations()
    assert fleet.first_start(late) - died_at <= TAKE_OVER_SECONDS


def test_a_frozen_leader_changes_nothing_when_it_thaws(
    some_fleet: Fleet, chance: random.Random
) -> None:
    """A zombie leader dispatches nothing any more, and it stands by again."""
    fleet = some_fleet
    schedulers = [fleet.scheduler("first")]
    leader = leading(fleet, schedulers)
    schedulers.append(fleet.scheduler("second"))
    fleet.worker()
    fleet.await_starts(fleet.insert("nap", 20, 200), chance.randrange(1, 100))

    with fleet.connect() as db:
        epoch = led(db)
    frozen_at = time()
    leader.freeze()
    late = fleet.insert("nap", 20, 50)
    until(lambda: fleet.first_start(late) < float("inf"), what="a dispatch", seconds=10)
    leader.thaw()
    more = fleet.insert("nap", 20, 100)
    until(lambda: leader.said("leadership.ended"), what="the end of its term")
    fleet.wait_until_done(20)

    assert fleet.violations().is_empty, fleet.violations()
    assert fleet.first_start(late) - frozen_at <= TAKE_OVER_SECONDS
    with fleet.connect() as db:
        epochs = records.epochs(db)
    assert all(each > epoch for job in late + more for each in epochs[job])
    assert leader.process.poll() is None


def test_a_plan_that_arrives_after_the_take_over_changes_nothing(some_fleet: Fleet) -> None:
    """What a frozen leader had sent is refused by its epoch, though its jobs still wait."""
    fleet = some_fleet
    port = urlsplit(fleet.url).port
    assert port is not None
    with relaying(port) as relay, fleet.connect() as db:
        through = fleet.url.replace(f":{port}/", f":{relay.port}/")
        frozen = fleet.scheduler("frozen", url=through)
        leading(fleet, [frozen])
        epoch = led(db)
        other = fleet.scheduler("other")
        relay.hold(b"fairlead_scheduler.loop: dispatch")
        jobs = fleet.insert("nap", 20, 50)
        until(relay.holds.is_set, what="a plan on its way")
        frozen.freeze()
        # The next leader leaves these jobs where the plan looks for them.
        db.execute("SELECT fairlead.pause('default')")
        leading(fleet, [other])

        relay.let_go()
        until(lambda: b"INSERT 0 " in relay.answer, what="an answer to the plan")
        frozen.thaw()
        until(lambda: frozen.said("leadership.ended"), what="the end of its term")

        assert b"INSERT 0 0\0" in relay.answer
        assert [] == db.execute("SELECT job_id FROM fairlead.work_queue").fetchall()
        assert other.pid == fleet.leader_pid()
        db.execute("SELECT fairlead.resume('default')")
        fleet.worker()
        fleet.wait_until_done(20)
        assert fleet.violations().is_empty, fleet.violations()
        epochs = records.epochs(db)
        assert all(each > epoch for job in jobs for each in epochs[job])
        assert frozen.process.poll() is None


@pytest.mark.long
def test_a_slow_network_costs_no_lease(some_fleet: Fleet, chance: random.Random) -> None:
    """Up to a tenth of a second more in each direction: everything holds, and goes on."""
    fleet = some_fleet
    port = urlsplit(fleet.url).port
    assert port is not None

    def delay() -> float:
        return chance.uniform(0.0, _SLOW_SECONDS)

    with relaying(port, delay) as relay, fleet.connect() as db:
        direct = fleet.url
        fleet.url = direct.replace(f":{port}/", f":{relay.port}/")
        scheduler = fleet.scheduler()
        leading(fleet, [scheduler])
        worker = fleet.worker()
        fleet.url = direct
        epoch = led(db)
        for _ in range(8):
            jobs = fleet.insert("nap", 20, 20) + fleet.insert("grind", 100, 5)
            jobs += fleet.insert("book", 50, 5) + fleet.insert("book_async", 50, 5)
            fleet.await_starts(jobs, chance.randrange(1, len(jobs)))
        fleet.wait_until_done(60)

        assert fleet.violations().is_empty, fleet.violations()
        assert {"succeeded"} == {each.outcome for each in fleet.ended()}
        assert [] == fleet.errors("lost") + fleet.errors("crashed") + fleet.errors("failed")
        assert epoch == led(db)
        assert not worker.said("lease.lost")


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
        jobs += fleet.insert("book", 100, 20) + fleet.insert("book_apart", 100, 4)
        fleet.await_starts(jobs, chance.randrange(1, 80))
        own_server.kill()
        own_server.start()
        back_at = time()
        late = fleet.insert("nap", 10, 10)
        until(lambda late=late: fleet.first_start(late) < float("inf"), what="a start")  # type: ignore[misc]  # mypy cannot infer a lambda with a default
        assert fleet.first_start(late) - back_at <= RECOVERY_SECONDS

    fleet.wait_until_done(30)

    assert fleet.violations().is_empty, fleet.violations()


def test_a_server_that_freezes_costs_leases_and_no_job(
    own_fleet: Fleet, own_server: Server
) -> None:
    """Handlers run while the lease can be trusted, and not a moment after it has ended."""
    fleet = own_fleet
    fleet.scheduler()
    worker = fleet.worker()
    jobs = fleet.insert("grind", 12_000, 2) + fleet.insert("nap", 12_000, 2)
    until(lambda: len(fleet.jobs_of(worker)) == 4, what="four starts")
    process_tree, children = worker.process_tree(), children_of(worker.pid)

    server = own_server.pid
    assert server is not None
    backends = (server, *process_table.children(server))
    send(signal.SIGSTOP, backends)
    frozen_at = time()
    try:
        until(
            lambda: fleet.jobs_with("stop_requested", process_tree) == {*jobs},
            what="the request to stop in each handler",
        )
        stopped_at = max(each.at for each in fleet.events() if each.event == "stop_requested")
        until(lambda: not alive(children), what="the children's end")
    finally:
        send(signal.SIGCONT, backends)
    with fleet.connect() as db:
        db.execute("UPDATE fairlead.jobs SET payload = '{\"ms\": 10}'")
    fleet.wait_until_done(20)

    assert stopped_at - frozen_at < LEASE_SECONDS
    assert fleet.violations().is_empty, fleet.violations()
    assert worker.process.poll() is None


def test_terminated_connections_cost_no_job_an_attempt(
    some_fleet: Fleet, chance: random.Random
) -> None:
    """pg_terminate_backend on every kind of connection: no lease and no job is lost.

    A handler whose own connection is cut fails as others do, and its work is undone.
    """
    fleet = some_fleet
    fleet.scheduler()
    fleet.worker("one")
    fleet.insert("nap", 10)
    fleet.insert("book_async", 8000, 2)
    until(lambda: fleet.connection_kinds() == KINDS, what="every kind of connection")
    for kind in chance.sample(sorted(KINDS), k=len(KINDS)):
        fleet.await_starts(fleet.insert("nap", 30, 30), chance.randrange(1, 20))
        fleet.insert("book", 200, 10)
        until(partial(fleet.terminate, kind), what=f"cutting {kind}")

    fleet.wait_until_done(30)

    assert fleet.violations().is_empty, fleet.violations()
    assert {"succeeded"} == {each.outcome for each in fleet.ended()}
    assert [] == fleet.errors("lost") + fleet.errors("crashed")
