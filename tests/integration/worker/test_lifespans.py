"""Each process of a worker enters the application's lifespan before its first job."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_worker.ipc import messages
from fairlead_worker.ipc.child_args import LIFESPAN_FAILED
from tests.chaos.fleet import Fleet
from tests.support.children import RunningChild, child, ending
from tests.support.children import register as register_worker
from tests.support.dispatching import insert
from tests.support.health import listening_port, page
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

APP = "tests.support.life_app:tasks"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return the file in which processes write what happens in them."""
    return tmp_path / "life.log"


@pytest.fixture
def failing(tmp_path: Path) -> Path:
    """Return the file that says how the lifespan fails."""
    return tmp_path / "fails"


@pytest.fixture
def environment(log: Path, failing: Path) -> dict[str, str]:
    """Return what the application reads."""
    return {"LIFE_LOG": str(log), "LIFE_FAILS": str(failing), "LIFE_TIMEOUT": "0.5"}


@pytest.fixture
def alive(
    database_url: str, db: Connection[TupleRow], environment: dict[str, str]
) -> Iterator[RunningChild]:
    """Yield a child that claims."""
    with child(database_url, register_worker(db), app=APP, environment=environment) as made:
        yield made


def lines(log: Path) -> list[str]:
    """Return what happened, without the ids of processes."""
    said = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [line.rstrip("0123456789").rstrip() for line in said]


def reasons(child_log: list[str], event: str) -> list[str]:
    """Return the reasons of an event in a child's log."""
    found = [json.loads(line) for line in child_log if line.startswith("{")]
    return [str(each["reason"]) for each in found if each["event"] == event]


def test_handlers_get_what_the_lifespan_yields_and_it_ends_after_the_last_one(
    alive: RunningChild, db: Connection[TupleRow], log: Path
) -> None:
    """On the loop, in a thread and in a process of their own, which has its own."""
    started = lines(log)
    found = {
        kind: ending(db, insert(db, kind))[:2]
        for kind in ("on_loop", "in_thread", "apart", "without")
    }

    alive.send(messages.Drain())

    assert 0 == alive.exits()
    assert ["start"] == started
    assert found == {
        "on_loop": ("succeeded", [True, True]),
        "in_thread": ("succeeded", [True, True, {"currency": "EUR"}]),
        "apart": ("succeeded", [True, True]),
        "without": ("succeeded", None),
    }
    assert [
        "start",
        "before on_loop",
        "after on_loop",
        "before in_thread in EUR",
        "start",
        "before apart in EUR",
        "before without",
        "after without",
        "stop",
        "stop",
    ] == lines(log)


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("raises", "ConnectionError: no broker at 10.0.0.7, at {}"),
        ("blocks", "it has not started within 0.5 s: it is at {}"),
        ("waits", "it has not started within 0.5 s: it is at {}"),
    ],
)
def test_a_start_that_fails_is_one_sentence_with_its_place(
    database_url: str,
    environment: dict[str, str],
    failing: Path,
    how: str,
    sentence: str,
) -> None:
    """The process ends, and has claimed nothing: it was never ready."""
    failing.write_text(how, encoding="utf-8")
    running = RunningChild(database_url, app=APP, environment=environment)
    try:
        assert LIFESPAN_FAILED == running.exits()
    finally:
        running.end()

    app = Path("tests/support/life_app.py").resolve()
    text = app.read_text(encoding="utf-8").splitlines()
    line = text.index(f'    if how == "{how}":') + 2
    assert [sentence.format(f"{app}:{line}")] == reasons(running.log, "lifespan.failed")
    assert [] == running.received


def test_an_end_that_fails_is_logged_and_the_process_ends_well(
    alive: RunningChild, failing: Path
) -> None:
    """Nothing is lost by it: everything is stored."""
    failing.write_text("raises at its end", encoding="utf-8")

    alive.send(messages.Drain())

    assert 0 == alive.exits()


def test_a_lifespan_that_ends_early_drains_its_process(
    database_url: str, db: Connection[TupleRow], environment: dict[str, str], failing: Path
) -> None:
    """What it has begun in a task group has failed; the parent starts another process."""
    failing.write_text("ends early", encoding="utf-8")
    with child(database_url, register_worker(db), app=APP, environment=environment) as running:
        running.receives(messages.Drained)

        assert LIFESPAN_FAILED == running.exits()
        (reason,) = reasons(running.log, "lifespan.ended_early")
        assert reason.startswith("ConnectionError: lost the broker, at ")


def test_a_handlers_own_process_runs_nothing_once_its_lifespan_has_ended(
    alive: RunningChild, db: Connection[TupleRow], log: Path, failing: Path
) -> None:
    """It ended while the process had nothing to do; the job is put off, for another process."""
    failing.write_text("ends early", encoding="utf-8")
    assert ("succeeded", [True, True]) == ending(db, insert(db, "apart"))[:2]
    failing.unlink()
    until(lambda: reasons(alive.log, "lifespan.ended_early"), what="it ends early")

    job = insert(db, "apart")
    row = until(
        lambda: db.execute(
            "SELECT attempts FROM fairlead.jobs WHERE id = %s AND run_at IS NOT NULL",
            [job],
        ).fetchone(),
        what="the job is put off",
    )

    assert (0,) == row
    assert ("succeeded", [True, True]) == ending(db, insert(db, "apart"))[:2]
    assert 3 == lines(log).count("start")


def test_a_worker_whose_lifespan_fails_is_not_ready_and_claims_nothing_until_it_starts(
    fleet: Fleet, db: Connection[TupleRow], environment: dict[str, str], failing: Path
) -> None:
    """It tries again, each time in a new process, and a later one succeeds."""
    fleet.environment = {**fleet.environment, **environment}
    failing.write_text("raises", encoding="utf-8")
    fleet.scheduler()
    arguments = ["--app", APP, "--name", "worker", "--health-port", "0"]
    worker = fleet.start("worker", "fairlead_worker.main", *arguments)
    db.execute("INSERT INTO fairlead.jobs (kind) VALUES ('without')")

    def failures() -> int:
        return worker.log.read_text("utf-8").count('"event": "lifespan.failed"')

    until(lambda: failures() >= 6, what="six failed starts", seconds=60)
    rests = [
        json.loads(line)["in_seconds"]
        for line in worker.log.read_text("utf-8").splitlines()
        if '"lifespan.again"' in line
    ]
    ready = page(listening_port(worker.pid), "readyz")
    claimed = db.execute("SELECT FROM fairlead.work_queue WHERE worker IS NOT NULL").fetchall()
    workers = db.execute("SELECT FROM fairlead.workers").fetchall()
    failing.unlink()

    assert ("succeeded", None, None) == until(
        lambda: db.execute(
            "SELECT outcome, result, error FROM fairlead.job_history"
        ).fetchone(),
        what="the job's end",
        seconds=60,
    )
    assert [0.1, 0.2, 0.4, 0.8, 1.6] == rests[:5]
    assert "ok" != ready
    assert [] == claimed == workers
    assert 0 == worker.stop()
    assert ["start", "before without", "after without", "stop"] == lines(
        Path(environment["LIFE_LOG"])
    )
