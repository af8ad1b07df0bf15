"""A shadow policy is simulated in a separate process, with no other effect."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest

from fairlead import policy_storage
from fairlead.db.connect import connect
from fairlead.policy import Shadow, parse
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.simulation import shadow_runner
from fairlead_scheduler.simulation.shadow_runner import ShadowRunner
from fairlead_scheduler.simulation.simulation_report import SimulationReport
from tests.integration.conftest import Fairlead
from tests.support import race
from tests.support.children import register
from tests.support.logins import LogIn, as_login
from tests.support.race import Database
from tests.support.schedulers import scheduling
from tests.support.waiting import until

HEAVY = (
    "queues: [{match: {queue: q}, tenants: {overrides: [{match: {tenant: b}, weight: 10}]}}]"
)
_KEYED = (
    "queues: [{match: {queue: q},"
    " concurrency: [{key: payload.account, limit: 1, scope: queue}]}]"
)
_BACKLOG = """
    INSERT INTO fairlead.jobs (queue, tenant, kind)
    SELECT 'q', tenant, 'k' FROM unnest(ARRAY['a', 'b']) tenant, generate_series(1, %s)
"""
_LEADER = """
import time
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.simulation.shadow_runner import ShadowRun
run = ShadowRun(SchedulerSettings(), 1)
print(run.process.pid, flush=True)
time.sleep(60)
"""
_ROW = "SELECT report, said FROM fairlead.policy_shadow"


def stored_report(db: Database) -> tuple[object, ...] | None:
    """Return the report and the reason of the last simulation."""
    return db.execute(_ROW).fetchone()


def by_pool(db: Database) -> dict[object, object]:
    """Return the reason stored for each pool."""
    return dict(db.execute("SELECT pool, said FROM fairlead.policy_shadow").fetchall())


def shadow(version: int | str) -> Shadow | None:
    """Return the shadow section of a policy."""
    return parse(json.dumps({"shadow": {"version": version}})).shadow


class Term:
    """A term's shadow, without the rest of the leader."""

    def __init__(self, url: str, db: Database, wanted: Shadow | None) -> None:
        settings = SchedulerSettings.model_validate({"database_url": url})
        self.wanted = wanted
        self.names: tuple[str, ...] = ()
        self.metrics = Metrics()
        self.connection = connect(settings, name="retention")
        self.shadows = ShadowRunner(
            self.connection,
            settings,
            epoch=race.lead(db),
            policies=self,
            metrics=self.metrics,
        )

    def shadow(self) -> Shadow | None:
        """Return the shadow of the policy in force."""
        return self.wanted

    def pools(self) -> Sequence[str]:
        """Return its pools."""
        return self.names

    def value(self, name: str, **labels: str) -> float | None:
        """Return what a series shows."""
        return self.metrics.registry.get_sample_value(f"fairlead_policy_shadow_{name}", labels)


@pytest.fixture
def term(database_url: str, db: Database) -> Iterator[Term]:
    """Yield a term with a shadow that is not stored."""
    made = Term(database_url, db, shadow(77))
    yield made
    made.shadows.stop()
    made.connection.close()


def simulated(term: Term) -> None:
    """Run one simulation and store its result."""
    term.shadows.poll()
    if term.shadows.run is not None and not term.shadows.run.is_over:
        term.shadows.run.process.wait()
    term.shadows.poll()


def finished(term: Term, db: Database) -> tuple[object, ...]:
    """Run one simulation, however long it takes, and return what was stored."""
    simulated(term)
    found = stored_report(db)
    assert found is not None
    return found


def test_a_leader_simulates_the_shadow_of_the_policy_in_force(
    database_url: str, db: Database, fairlead: Fairlead
) -> None:
    """The report names both versions, nothing is applied, and removing the shadow ends it."""
    register(db, slots=2)
    db.execute(_BACKLOG, [1500])
    policy_storage.store(db, HEAVY)
    policy_storage.store(db, "shadow: {version: 1}")

    with scheduling(database_url):
        report, _ = until(
            lambda: stored_report(db), what="a simulation of the shadow", seconds=100
        )
    table = fairlead("policy", "shadow")
    listed = json.loads(fairlead("policy", "shadow", "--json"))
    policy_storage.store(db, "{}")
    with scheduling(database_url):
        until(lambda: stored_report(db) is None, what="forgetting the shadow", seconds=20)

    made = cast("SimulationReport", report)
    assert (2, 1) == (made["old"]["version"], made["new"]["version"])
    shares = {each["tenant"]: each["new"]["share"] for each in made["tenants"]}
    assert shares["b"] > 5 * shares["a"]
    assert "old: version 2, in force; new: version 1, digest " in table
    assert report == listed[0]["report"]
    assert "no shadow policy is simulated" in fairlead("policy", "shadow", code=1)


def test_a_shadow_that_is_not_stored_is_reported(
    term: Term, db: Database, fairlead: Fairlead
) -> None:
    """By the command and by a metric; the policy in force stays."""
    register(db)

    report, sentence = finished(term, db)

    assert report is None
    assert str(sentence).startswith("shadow.version is 77, and no such policy is stored: ")
    assert 1 == term.value("failed_total")
    assert "shadow.version is 77" in fairlead("policy", "shadow")


def test_a_shadow_without_workers_is_reported(term: Term, db: Database) -> None:
    """No job would run."""
    term.wanted = shadow(policy_storage.store(db, HEAVY).digest)

    _, sentence = finished(term, db)

    assert "pool 'default' has no live worker, so nothing would run" == sentence


def test_the_metrics_say_how_much_would_move(term: Term, db: Database) -> None:
    """Until another policy is in force."""
    register(db, slots=2)
    db.execute(_BACKLOG, [1500])
    stored = policy_storage.store(db, HEAVY)
    policy_storage.store(db, "{}")
    term.wanted = shadow(stored.digest)

    finished(term, db)

    moved = term.value("moved_share", pool="default", digest=stored.digest)
    assert moved == pytest.approx(10 / 11 - 1 / 2, abs=0.05)
    assert (term.value("wait_p99_seconds", pool="default", policy="in_force") or 0) > 1
    assert (term.value("timestamp_seconds") or 0) > 1
    term.wanted = None
    term.shadows.poll()
    assert term.value("moved_share", pool="default", digest=stored.digest) is None
    assert stored_report(db) is None


def test_a_simulation_that_takes_too_long_is_killed(
    term: Term, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stored reason says so."""
    monkeypatch.setattr(shadow_runner, "RUN_SECONDS_MAX", 0.0)

    _, sentence = finished(term, db)

    assert str(sentence).startswith("the simulation was killed")


def test_no_simulation_outlives_the_term(term: Term) -> None:
    """It is killed before the next leader can start its own."""
    term.shadows.poll()
    assert term.shadows.run is not None
    process = term.shadows.run.process
    assert process.poll() is None

    term.shadows.stop()

    assert not Path(f"/proc/{process.pid}").exists()


def test_a_deposed_leader_stores_nothing(term: Term, db: Database) -> None:
    """A deposed leader's result is dropped."""
    db.execute("UPDATE fairlead.leaders SET epoch = epoch + 1 WHERE role = 'scheduler'")
    term.shadows.poll()
    assert term.shadows.run is not None
    process = term.shadows.run.process
    process.wait()

    term.shadows.poll()

    assert stored_report(db) is None
    assert 1 == term.value("failed_total")


def test_the_roles_may_simulate(
    database_url: str,
    db: Database,
    log_in: LogIn,
    fairlead: Fairlead,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The scheduler's role for the shadow, the administrator's for the command."""
    register(db)
    db.execute(_BACKLOG, [6000])
    scheduler = as_login(database_url, log_in("fairlead_scheduler").info.user)
    admin = as_login(database_url, log_in("fairlead_admin").info.user)
    term = Term(scheduler, db, shadow(policy_storage.store(db, _KEYED).version))
    report, _ = finished(term, db)
    term.connection.close()
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", admin)
    file = tmp_path / "policy.yaml"
    file.write_text(_KEYED)

    made = json.loads(fairlead("policy", "simulate", str(file), "--json", "--horizon", "1s"))

    assert 12_000 == cast("SimulationReport", report)["waiting"] == made["waiting"]
    assert "kinds and keys are read of 1,000 of 12,000 waiting jobs" in made["notes"][0]
    assert "pool default, simulated" in fairlead("policy", "shadow")


def test_a_simulation_dies_with_a_leader_that_is_killed(tmp_path: Path) -> None:
    """The kernel kills it, so no process is left."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://127.0.0.1:{silent.getsockname()[1]}/unreachable"
        leader = subprocess.Popen(
            [sys.executable, "-c", _LEADER],
            stdout=subprocess.PIPE,
            env={**os.environ, "FAIRLEAD_DATABASE_URL": url},
            cwd=tmp_path,
        )
        try:
            assert leader.stdout is not None
            child = int(leader.stdout.readline())
            until(
                lambda: os.getpriority(os.PRIO_PROCESS, child) == 19,
                what="the simulation's start",
                seconds=30,
            )
            os.kill(child, signal.SIGSTOP)  # so that it cannot end by itself
        finally:
            leader.kill()
            leader.communicate()

        until(lambda: not alive(child), what="its death", seconds=10)


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_a_process_that_cannot_be_started_is_reported(
    term: Term, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The term continues: leadership must not depend on the shadow."""

    def refused(*_: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(shadow_runner, "ShadowRun", refused)

    _, sentence = finished(term, db)

    assert "no process could be started for the simulation: " in str(sentence)
    assert 1 == term.value("failed_total")


def test_the_shadow_is_simulated_for_each_pool_that_the_policy_names(
    term: Term, db: Database
) -> None:
    """One after another, and each row names its pool.

    What was said ends when it names others, although the shadow is the same.
    """
    register(db, slots=2)
    db.execute(_BACKLOG, [10])
    term.names = ("gpu", "default")
    term.wanted = shadow(policy_storage.store(db, HEAVY).version)

    for _ in term.names:
        simulated(term)

    assert {
        "gpu": "pool 'gpu' has no live worker, so nothing would run",
        "default": "",
    } == by_pool(db)
    term.names = ("default",)

    term.shadows.poll()

    assert {} == by_pool(db)
    assert term.shadows.run is not None, "what is left is not simulated anew"
    assert "default" == term.shadows.run.pool
