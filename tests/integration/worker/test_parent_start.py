"""A worker that cannot work prints one sentence; one that must wait waits."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_cli.dev.postgres import Server
from tests.chaos.fleet import fleet
from tests.support.dispatching import dispatch_all
from tests.support.health import listening_port, page
from tests.support.tree import SOURCES
from tests.support.waiting import until
from tests.support.worker_children import children_of

pytestmark = pytest.mark.any_server

MEMORY_KIB_MAX = 45 * 1024
_LOOKS = """
SELECT query_start FROM pg_stat_activity
WHERE datname = current_database() AND query LIKE '/* fairlead_worker.parent: unfinished */%'
"""


def refused(url: str, folder: Path, *arguments: str) -> tuple[int, list[str]]:
    """Run a worker that is to be refused; return its exit code and its lines for people."""
    ended = subprocess.run(
        [sys.executable, "-m", "fairlead_worker.main", *arguments],
        check=False,
        capture_output=True,
        cwd=folder,
        env={
            "FAIRLEAD_DATABASE_URL": url,
            "PYTHONPATH": os.pathsep.join([str(folder), SOURCES]),
        },
        text=True,
        timeout=60,
    )
    lines = ended.stderr.splitlines()
    return ended.returncode, [line for line in lines if not line.startswith('{"')]


def test_bad_settings_are_one_sentence_and_exit_code_2(
    database_url: str, tmp_path: Path
) -> None:
    """No traceback, no usage text."""
    code, said = refused(database_url, tmp_path, "--app", "shop:tasks", "--processes", "0")

    assert (2, 1) == (code, len(said)), said
    assert said[0].startswith("fairlead: ")
    assert "FAIRLEAD_PROCESSES" in said[0]


def test_an_application_that_cannot_be_loaded_is_one_sentence_and_exit_code_2(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """An import error ends the worker at once; it leaves no row that lives."""
    (tmp_path / "shop.py").write_text("import no_such_package\n")

    code, said = refused(database_url, tmp_path, "--app", "shop:tasks")

    assert (2, 1) == (code, len(said)), said
    why = "ModuleNotFoundError: No module named 'no_such_package'"
    assert f"fairlead: cannot load app 'shop:tasks': {why}, at {tmp_path}/shop.py:1" == said[0]
    assert [] == db.execute("SELECT 1 FROM fairlead.workers WHERE state <> 'dead'").fetchall()


def test_an_application_that_exits_as_it_loads_is_one_sentence_and_exit_code_2(
    database_url: str, tmp_path: Path
) -> None:
    """`sys.exit` for a missing setting is no crash, and no reason to start again."""
    (tmp_path / "shop.py").write_text("import sys\n\nsys.exit('set SHOP_URL')\n")

    code, said = refused(database_url, tmp_path, "--app", "shop:tasks")

    place = f"{tmp_path}/shop.py:3"
    assert (2, 1) == (code, len(said)), said
    assert f"'shop:tasks': SystemExit: set SHOP_URL, at {place}" in said[0]


def test_an_application_that_cannot_be_loaded_waits_for_no_database(tmp_path: Path) -> None:
    """A mistake that no database will mend is reported at once: one sentence, exit 2."""
    code, said = refused("postgresql://u@127.0.0.1:1/x", tmp_path, "--app", "nope:tasks")

    assert (2, 1) == (code, len(said)), said
    assert "nope" in said[0]


def test_an_application_that_dies_as_it_loads_is_given_up(
    database_url: str, tmp_path: Path
) -> None:
    """Five deaths in a row before anything was ready: exit 1, with one sentence."""
    (tmp_path / "shop.py").write_text("import os\nos._exit(7)\n")

    code, said = refused(database_url, tmp_path, "--app", "shop:tasks")

    assert (1, 1) == (code, len(said)), said
    assert "died before they were ready, the last with code 7" in said[0]


def test_an_incompatible_schema_is_one_sentence_and_exit_code_2(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """A schema that only newer code can use is not waited for."""
    (tmp_path / "shop.py").write_text("import fairlead\n\ntasks = fairlead.Tasks()\n")
    db.execute(
        "INSERT INTO fairlead.schema_versions (version, name, compatible_from)"
        " VALUES (9000, 'future', 9000)"
    )

    code, said = refused(database_url, tmp_path, "--app", "shop:tasks")

    assert (2, 1) == (code, len(said)), said
    assert "upgrade Fairlead" in said[0]


def test_a_worker_waits_for_its_database_and_logs_it(
    own_server: Server, tmp_path: Path
) -> None:
    """A worker that starts before its database waits for it."""
    own_server.stop()
    with fleet(own_server.url, tmp_path) as made:
        program = made.start(
            "patient", "fairlead_worker.main", "--app", "tests.chaos.app:tasks"
        )
        until(lambda: program.said("database.waiting"), what="its waiting", seconds=20)
        own_server.start()

        until(lambda: program.said("child.ready"), what="its readiness", seconds=20)


def test_a_worker_runs_until_empty(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """--until-empty exits 0 when nothing is pending, queued or running."""
    with fleet(database_url, tmp_path) as made:
        made.insert("nap", 300, 5)
        worker = made.worker(more="--until-empty")
        dispatch_all(db)

        code = worker.process.wait(20)

        assert (0, ()) == (code, made.unfinished())
        assert made.violations().is_empty, made.violations()
        assert 1 == worker.log.read_text("utf-8").count("until_empty.done")


def test_a_worker_claims_as_many_jobs_as_it_is_told_and_ends(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """However short they are: none is claimed beyond them, and the rest waits for others."""
    with fleet(database_url, tmp_path) as made:
        made.insert("nap", 20, 5)
        worker = made.worker(more="--jobs 3", concurrency=2)
        dispatch_all(db)

        code = worker.process.wait(20)

        assert (0, 2) == (code, len(made.unfinished()))
    claimed = db.execute("SELECT count(*) FROM fairlead.work_queue WHERE worker IS NOT NULL")
    assert [(0,)] == claimed.fetchall()


def test_a_worker_of_one_job_ends_when_the_process_dies_under_it(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """Another process would claim a second one."""
    with fleet(database_url, tmp_path) as made:
        made.insert("held", 0, 2)
        worker = made.worker(more="--jobs 1", concurrency=1)
        dispatch_all(db)
        running = "SELECT 1 FROM fairlead.work_queue WHERE worker IS NOT NULL"
        until(lambda: db.execute(running).fetchone(), what="the job")
        for child in children_of(worker.process.pid):
            os.kill(child, signal.SIGKILL)

        assert 0 == worker.process.wait(20)
        assert 2 == len(made.unfinished())


def test_a_worker_of_one_job_ends_when_its_pod_is_drained(
    database_url: str, db: Connection[TupleRow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has claimed nothing, and nothing else would end it."""
    monkeypatch.setenv("FAIRLEAD_POD_UID", "u")
    with fleet(database_url, tmp_path) as made:
        worker = made.worker(more="--jobs 1")
        db.execute(
            "INSERT INTO fairlead.pod_drains (pod_uid, pool, epoch, drain_until)"
            " VALUES ('u', 'default', 1, now() + interval '1 hour')"
        )

        assert 0 == worker.process.wait(20)


def test_a_worker_that_runs_until_empty_logs_what_it_waits_for(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """It waits for jobs of a paused queue, and logs that, but not all the time."""
    looks = set[object]()

    def looked_again() -> bool:
        looks.update(db.execute(_LOOKS).fetchall())
        return len(looks) > 2

    db.execute("INSERT INTO fairlead.jobs (queue, kind) VALUES ('mail', 'nap'), ('web', 'nap')")
    db.execute("SELECT fairlead.pause('mail')")
    with fleet(database_url, tmp_path) as made:
        worker = made.worker(more="--until-empty")
        until(lambda: worker.said("until_empty.waiting"), what="the line", seconds=20)
        until(looked_again, what="two more looks")
        lines = worker.log.read_text("utf-8").splitlines()
        db.execute("DELETE FROM fairlead.jobs")

        code = worker.process.wait(20)

    said = [json.loads(line) for line in lines if "until_empty.waiting" in line]
    assert [(["mail", "web"], ["mail"])] == [(each["queues"], each["paused"]) for each in said]
    assert 0 == code


def test_a_worker_is_ready_when_it_may_claim_and_not_while_it_stops(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """Readiness means started and not leaving; it never depends on work or the database."""
    with fleet(database_url, tmp_path) as made:
        worker = made.worker(more="--health-port 0 --grace-seconds 5")
        port = listening_port(worker.pid)
        assert "ok" == page(port, "readyz")
        made.insert("deaf", 1500)
        dispatch_all(db)
        until(lambda: made.started(worker.process_tree()), what="a start")

        metrics = page(port, "metrics")
        worker.process.terminate()
        until(lambda: "not ready" in page(port, "readyz"), what="not being ready")
        draining = page(port, "metrics")
        code = worker.process.wait(20)

    assert 0 == code
    assert 'fairlead_worker_slots{pool="default"} 8.0' in metrics
    assert 'fairlead_worker_slots_busy{pool="default"} 1.0' in metrics
    assert 'fairlead_lease_renewals_total{result="renewed"}' in metrics
    assert "fairlead_worker_draining 1.0" in draining


def test_the_parent_stays_small(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """The worker's parent takes at most 45 MiB, health pages and all."""
    with fleet(database_url, tmp_path) as made:
        worker = made.worker(more="--health-port 0")
        made.insert("nap", 50, 20)
        dispatch_all(db)
        until(lambda: not made.unfinished(), what="the end of every job")
        page(listening_port(worker.pid), "metrics")

        kib = resident_kib(worker.pid)

    assert kib <= MEMORY_KIB_MAX


def resident_kib(pid: int) -> int:
    """Return how much memory a process has resident."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")
