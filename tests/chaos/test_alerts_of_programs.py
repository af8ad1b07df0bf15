"""What goes wrong with schedulers, workers and the autoscaler fires its alert, and no other."""

import re
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

import fairlead
from tests.support.alerting import (
    CALM_SECONDS,
    Reader,
    alarmed,
    alone,
    await_calm,
    called,
    feeding,
    hanging,
)
from tests.support.beside import beside
from tests.support.installations import second_installation
from tests.support.observed import schedule
from tests.support.observing import Watched
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.any_server, pytest.mark.timeout(600)]

_WORKERS = (2, 2)
_LEASE = {
    "FAIRLEAD_WORKER_LEASE_SECONDS": "8",
    "FAIRLEAD_WORKER_RENEW_SECONDS": "2",
    "FAIRLEAD_WORKER_MARGIN_SECONDS": "1",
    "FAIRLEAD_WORKER_CALL_SECONDS": "3",
    "FAIRLEAD_NETWORK_TIMEOUT_SECONDS": "6",
}
"""As the rules' durations are short, so is the time for which a worker may be away."""
_LOCKED_SECONDS, _OPEN_SECONDS = 1.9, 0.4
"""A dispatch that waits for longer than 2.4 seconds is given up."""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Yield a fleet of two workers with short leases."""
    folder = tmp_path_factory.mktemp("rules")
    with alarmed(folder, workers=_WORKERS, environment=_LEASE) as running:
        # Jobs are late for seconds while a program is down, which these alerts are not about.
        # No queue has a limit: what a test left waiting for one would be late in the next.
        pools = schedule.policy(*_WORKERS, "")
        running.apply_policy(pools.replace("objective: 2s", "objective: 30s"))
        yield running


@pytest.fixture(autouse=True)
def calm(fleet: Watched) -> None:
    """Wait for silence, whatever the test before did."""
    await_calm(fleet)


def reports() -> Sequence[fairlead.NewJob]:
    """Return jobs that take a second or two."""
    return [fairlead.NewJob(kind="report", queue="reports", tenant="one")]


def a_worker(fleet: Watched) -> str:
    """Return the name of a worker."""
    return next(each for each in fleet.names() if each.startswith("worker"))


def is_dead(fleet: Watched, worker: str) -> bool:
    """Return whether what the workers of this name held was taken back, all of it.

    One whose lease has lapsed is not dead before that.
    """
    with fleet.connect() as db:
        asked = "SELECT 1 FROM fairlead.workers WHERE name = %s AND state <> 'dead'"
        return db.execute(asked, [worker]).fetchone() is None


def await_report(fleet: Watched, worker: str) -> None:
    """Wait until a living worker of this name holds a job that takes a while."""
    asked = """
        SELECT 1 FROM fairlead.work_queue q JOIN fairlead.workers w ON w.id = q.worker
         WHERE w.name = %s AND w.state = 'live' AND q.queue = 'reports'
    """
    with fleet.connect() as db:
        until(
            lambda: db.execute(asked, [worker]).fetchone(),
            what=f"a report that {worker} holds",
            seconds=60,
        )


@contextmanager
def frozen(fleet: Watched, program: str, *, alone: bool = False) -> Generator[None]:
    """Have a program stand still, with its children or alone, until the end of the block."""
    fleet.freeze(program, alone=alone)
    try:
        yield
    finally:
        fleet.thaw(program)


def test_workers_that_are_lost_again_and_again_raise_an_alert(
    fleet: Watched, tmp_path: Path
) -> None:
    """One of them freezes for longer than its lease, comes back, and freezes again."""
    name = "FairleadLeasesExpire"
    worker = a_worker(fleet)
    with feeding(fleet.url, reports), alone(fleet, name):
        for _ in range(12):
            await_report(fleet, worker)
            with frozen(fleet, worker):
                until(lambda: is_dead(fleet, worker), what="a lost lease", seconds=60)
            if name in fleet.firing():
                break

        reader = called(fleet, name, tmp_path, seconds=30)
        (listed,) = reader.look()
        reader.known["WORKER"] = worker
        await_report(fleet, worker)
        with frozen(fleet, worker):
            (released,) = reader.mend()
        fleet.wait_for_silence(name, CALM_SECONDS)

    lost = re.findall(r"^ *\d+ +(\S+) +default +dead ", listed, re.MULTILINE)
    assert {worker} == set(lost)
    assert "is dead; put" in released


def test_a_pod_that_does_not_become_ready_raises_an_alert(
    fleet: Watched, tmp_path: Path
) -> None:
    """Its process stands still, and the other worker does what there is."""
    name = "FairleadDesiredNotReached"
    worker = a_worker(fleet)
    with alone(fleet, name):
        with frozen(fleet, worker):
            reader = called(fleet, name, tmp_path, seconds=90)
            (explained,) = reader.look()
            fleet.kill(worker)
        fleet.wait_for_silence(name, CALM_SECONDS)

    assert re.search(r"^pods .*\b2 desired\b", explained, re.MULTILINE)
    assert re.search(r"^pods .*\b1 ready\b", explained, re.MULTILINE)


@contextmanager
def locking(fleet: Watched) -> Generator[None]:
    """Have a session lock the table that dispatch writes to, again and again."""

    def lock(stop: threading.Event) -> None:
        with psycopg.connect(fleet.url, autocommit=True, application_name="import") as own:
            while not stop.is_set():
                with own.transaction():
                    own.execute("LOCK TABLE fairlead.work_queue IN SHARE MODE")
                    stop.wait(_LOCKED_SECONDS)
                stop.wait(_OPEN_SECONDS)

    def run(stop: threading.Event) -> None:
        with suppress(psycopg.errors.AdminShutdown):  # the responder has ended the session
            lock(stop)

    with beside(run, "lock"):
        yield


def blockers(reader: Reader) -> list[str]:
    """Return the sessions that the scheduler waits for, as the page has its reader ask."""
    _, sessions = reader.look()
    return re.findall(r"\| Lock +\| \{(\d+)", sessions)


def test_a_scheduler_that_is_late_raises_an_alert(fleet: Watched, tmp_path: Path) -> None:
    """An import locks the table that it writes to, for two seconds at a time."""
    name = "FairleadSchedulerLag"
    with alone(fleet, name), locking(fleet):
        reader = called(fleet, name, tmp_path, seconds=60)
        (pid, *_) = until(lambda: blockers(reader), what="a scheduler that waits", seconds=60)
        reader.known["PID"] = pid
        (ended,) = reader.mend()
        fleet.wait_for_silence(name, CALM_SECONDS)

    assert re.search(r"^ *t$", ended, re.MULTILINE)


def idle_longest(reader: Reader) -> str:
    """Return the scheduler's session that has rested for longest, beside the one that may.

    The page says which that is, and its command has the others in that order.
    """
    *_, sessions = reader.look()
    found: list[str] = re.findall(r"^ *fairlead scheduler (\S+) ", sessions, re.MULTILINE)
    return next(each for each in found if each != "retention")


def test_queues_that_are_not_measured_raise_an_alert(fleet: Watched, tmp_path: Path) -> None:
    """The session that measures them hangs, so the leader's pod is deleted.

    How the lead changes hands then takes as long as ever, and more than the scaled rules stand.
    """
    name = "FairleadQueuesNotMeasured"
    with hanging(fleet, "scans"):
        with alone(fleet, name):
            stuck = idle_longest(called(fleet, name, tmp_path, seconds=60))
        fleet.restart(fleet.leader())
        fleet.wait_for_silence(name, CALM_SECONDS)

    assert "scans" == stuck


def test_an_autoscaler_without_demand_raises_an_alert(fleet: Watched, tmp_path: Path) -> None:
    """The session that says what pools need hangs; what is done then is the same."""
    name = "FairleadAutoscalerStale"
    with hanging(fleet, "backlog"):
        with alone(fleet, name):
            reader = called(fleet, name, tmp_path, seconds=60)
            explained, *_ = reader.look()
            stuck = idle_longest(reader)
        fleet.restart(fleet.leader())
        fleet.wait_for_silence(name, CALM_SECONDS)

    (age,) = re.findall(r"^demand +said (\d+)[.\d]* s before", explained, re.MULTILINE)
    assert int(age) > 15
    assert "backlog" == stuck


def test_an_autoscaler_that_is_down_raises_an_alert(fleet: Watched, tmp_path: Path) -> None:
    """Its process stands still, and those of its workers go on."""
    name = "FairleadAutoscalerNoLeader"
    with alone(fleet, name):
        with frozen(fleet, "autoscaler", alone=True):
            reader = called(fleet, name, tmp_path, seconds=30)
            (decisions,) = reader.look()
        fleet.wait_for_silence(name, CALM_SECONDS)

    (age,) = re.findall(r"^default +\d+ +\d+ +\S+ +(\d+) s ", decisions, re.MULTILINE)
    assert int(age) >= 3


def test_two_installations_in_a_namespace_raise_an_alert(
    fleet: Watched, tmp_path: Path
) -> None:
    """Each has a scheduler and an autoscaler that lead, so two alerts say the same of them."""
    names = ("FairleadManyLeaders", "FairleadAutoscalerManyLeaders")
    with alone(fleet, *names), second_installation(fleet, tmp_path) as place:
        said = [called(fleet, each, tmp_path, seconds=45).look() for each in names]
        leader = fleet.pid(fleet.leader())
        place("elsewhere")
        for each in names:
            fleet.wait_for_silence(each, CALM_SECONDS)

    for (leaders,) in said:
        assert [str(leader)] == re.findall(
            r"^ scheduler +\| [^:]+:(\d+):", leaders, re.MULTILINE
        )
