"""Workers on one machine are scaled by the decision that scales pods on a cluster."""

import sys
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.policy_storage import newest, store
from fairlead_cli.dev.fleet import Fleet, Program
from fairlead_cli.dev.local_pods import LocalPods
from fairlead_cli.dev.scaling import Rows, Scaling, in_force, write_policy
from tests.support.dev import running_dev
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

AUTOSCALE: dict[str, object] = {
    "objective": "1s",
    "min": 1,
    "max": 2,
    "slots": 2,
    "startPrior": "1s",
    "stabilization": "0s",
}
FLOOD = """
    INSERT INTO fairlead.jobs (kind)
    SELECT 'sleep' FROM generate_series(1, 40 - (SELECT count(*) FROM fairlead.jobs))
"""
GONE = "SELECT count(*) FROM fairlead.worker_leases w WHERE w.dead_at IS NOT NULL"
DRAINED = """
    SELECT FROM fairlead.pod_drains d
    WHERE d.pod_uid = w.pod_uid AND d.drained_at IS NOT NULL
"""
BACK = "SELECT count(*) FROM fairlead.worker_leases WHERE name = 'worker-1'"
SCALED = """
pools: [{name: default, queues: ["*"], autoscale: {objective: 10s, min: %s, max: %s}}]
labels: {acme: {tier: gold}}
"""
EVENT = "INSERT INTO fairlead.policy_events (version, event, epoch) VALUES (%s, %s, 1)"
APP = """
import time
import fairlead
tasks = fairlead.Tasks()
@tasks.handler("sleep")
def sleep(job): time.sleep(0.4)
"""


@dataclass
class Scaled:
    """A fleet that is scaled, and what it has said."""

    fleet: Fleet
    pods: LocalPods
    scaling: Scaling
    db: Connection[TupleRow]
    said: list[str]

    def go_on(self) -> int:
        """Let the owner look once; return how many workers' rows are live."""
        self.scaling.look()
        self.fleet.revive()
        row = self.db.execute("SELECT count(*) FROM fairlead.workers WHERE state = 'live'")
        return int(str((row.fetchone() or (0,))[0]))

    def flood(self) -> int:
        """Let forty jobs wait or run, and the owner look."""
        self.db.execute(FLOOD)
        return self.go_on()

    def number(self, sentence: str) -> int:
        """Return the number that a statement finds."""
        return int(str((self.db.execute(sentence.encode()).fetchone() or (0,))[0]))


def worker(name: str, environment: Mapping[str, str]) -> Program:
    """Return a worker with two slots."""
    flags = ("--app", "devapp:tasks", "--concurrency", "2", "--name", name)
    return Program(name, "fairlead_worker.main", flags, environment)


@contextmanager
def scaled(folder: Path, url: str, db: Connection[TupleRow]) -> Generator[Scaled]:
    """Run a scheduler and as many workers as its jobs need."""
    (folder / "devapp.py").write_text(APP)
    write_policy(url, AUTOSCALE, reason="a test")
    said: list[str] = []
    path = ":".join([str(folder), *sys.path])
    with ExitStack() as stack:
        stack.enter_context(scheduling(url))
        led(db)
        fleet = Fleet(
            environment={"FAIRLEAD_DATABASE_URL": url, "PYTHONPATH": path},
            say=lambda name, line: said.append(f"{name} {line}"),
            folder=folder,
        )
        stack.callback(lambda: fleet.end(fleet.names(), seconds=10))
        serving = Rows(url)
        stack.callback(serving.close)
        pods = LocalPods(fleet, worker, serving, pool="default", replicas=1)
        yield Scaled(fleet, pods, stack.enter_context(Scaling(pods, url)), db, said)


def test_workers_come_with_a_flood_and_go_after_it_without_a_job_interrupted(
    tmp_path: Path, db: Connection[TupleRow], database_url: str
) -> None:
    """The one that goes is marked, empties itself, and is stopped then."""
    with scaled(tmp_path, database_url, db) as here:
        until(lambda: here.go_on() == 1, what="the first worker", seconds=40)

        until(lambda: here.flood() == 2, what="another one for the flood", seconds=40)
        until(
            lambda: here.go_on() and not here.number("SELECT count(*) FROM fairlead.jobs"),
            what="the end of the flood",
            seconds=60,
        )
        until(
            lambda: here.go_on() == 1 and len(here.fleet.names()) == 1,
            what="its end",
            seconds=60,
        )

        assert 0 < here.number(GONE)
        assert 0 == here.number(f"{GONE} AND NOT EXISTS ({DRAINED})")
        assert 0 == here.number("SELECT count(*) FROM fairlead.attempt_errors")
        unsuccessful = "SELECT count(*) FROM fairlead.job_history WHERE outcome <> 'succeeded'"
        assert 0 == here.number(unsuccessful)


def test_a_killed_worker_comes_back_in_its_pod_and_nobody_goes_for_it(
    tmp_path: Path, db: Connection[TupleRow], database_url: str
) -> None:
    """Its death is not read as fewer being needed."""
    with scaled(tmp_path, database_url, db) as here:
        until(lambda: here.flood() == 2, what="two workers for the flood", seconds=60)
        before = {pod.uid for pod in here.pods.snapshot().pods}

        here.fleet.kill("worker-1")
        until(
            lambda: here.flood() and here.number(BACK) == 2,
            what="the killed one's registration",
            seconds=40,
        )

        assert before == {pod.uid for pod in here.pods.snapshot().pods}
        assert not any(pod.terminating for pod in here.pods.snapshot().pods)


def test_what_leaders_have_refused_says_nothing_of_workers(
    db: Connection[TupleRow], database_url: str
) -> None:
    """The one before it is in force, and is what `--workers` writes into."""
    store(db, SCALED % (1, 3))
    db.execute(EVENT, [1, "in_force"])
    store(db, (SCALED % (7, 9)).replace("acme", "other"))
    db.execute(EVENT, [2, "refused"])

    before = in_force(database_url)
    write_policy(database_url, {"max": 4}, reason="a test")

    after, stored = in_force(database_url), newest(db)
    assert before is not None
    assert after is not None
    assert stored is not None
    assert ((1, 3), (1, 4)) == ((before.min, before.max), (after.min, after.max))
    assert "acme" in stored.document


def test_what_no_leader_has_read_yet_is_kept(
    db: Connection[TupleRow], database_url: str
) -> None:
    """One that was stored just before the end of a run is there in the next one."""
    store(db, SCALED % (1, 3))
    db.execute(EVENT, [1, "in_force"])
    store(db, SCALED % (2, 5))

    before = in_force(database_url)
    write_policy(database_url, {"max": 6}, reason="a test")

    after = in_force(database_url)
    assert before is not None
    assert after is not None
    assert ((2, 5), (2, 6)) == ((before.min, before.max), (after.min, after.max))


def test_dev_without_a_number_follows_a_policy_that_comes_later() -> None:
    """Two workers, until a policy says more."""
    with (
        running_dev(workers=None) as dev,
        psycopg.connect(dev.url, autocommit=True) as connection,
    ):
        live = "SELECT count(*) FROM fairlead.workers WHERE state = 'live'"
        until(
            lambda: connection.execute(live).fetchone() == (2,), what="two workers", seconds=40
        )
        write_policy(dev.url, {"min": 3, "max": 4}, reason="a test")
        until(
            lambda: connection.execute(live).fetchone() == (3,), what="a third one", seconds=40
        )


def test_dev_between_bounds_wakes_from_nothing_for_a_job() -> None:
    """With `--workers 0:2` no worker runs until there is a job, and why is on the screen."""
    with (
        running_dev(workers="0:2") as dev,
        psycopg.connect(dev.url, autocommit=True) as connection,
    ):
        connection.execute("INSERT INTO fairlead.jobs (kind) VALUES ('k')")
        ended = "SELECT count(*) FROM fairlead.job_history WHERE outcome = 'succeeded'"
        until(
            lambda: connection.execute(ended).fetchone() == (1,),
            what="the end of the job",
            seconds=40,
        )
        decided = connection.execute("SELECT pool FROM fairlead.pool_decisions").fetchall()
        said = dev.said.read_text()

    assert [("default",)] == decided
    assert "The workers are scaled from 0 to 2" in said
    assert "pool.scaled" in said
