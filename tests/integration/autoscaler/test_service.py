"""The program `fairlead-autoscaler`: it begins to decide, and stops in order."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import policy_storage
from tests.support.kubernetes import api, objects, scenes
from tests.support.kubernetes.objects import part
from tests.support.kubernetes.program import environment, kubeconfig
from tests.support.waiting import until

POLICY = "pools: [{name: default, queues: ['*'], autoscale: {objective: 10s, min: 1, max: 5}}]"
BACKEND = "SELECT pid FROM pg_stat_activity WHERE application_name = 'fairlead autoscaler'"
WRITES = {"update", "patch", "create"}
PROGRAM = "from fairlead_autoscaler import main; main.main()"
BROKEN = """
from fairlead_autoscaler.kube import convert
def broken(*_): raise AssertionError("unexpected")
convert.%s = broken
"""
"""Breaks what is read of an object, as a field that no server was known to send does."""


@pytest.fixture
def api_server() -> Iterator[api.Api]:
    """Run an API server with a release's objects."""
    with api.running() as running:
        scenes.install(running.client())
        yield running


@contextmanager
def program(
    server: api.Api, database_url: str, folder: Path, *, before: str = ""
) -> Generator[subprocess.Popen[str]]:
    """Run the program, after some code of the test's, until the block ends."""
    given = environment(database_url, {"default": scenes.WORKERS})
    command = [sys.executable, "-c", before + PROGRAM]
    command += ["--kubeconfig", str(kubeconfig(server, folder))]
    with (folder / "log").open("w") as log:
        running = subprocess.Popen(command, env={**os.environ, **given}, stderr=log, text=True)
        try:
            yield running
        finally:
            running.kill()
            running.wait()


def holder(server: api.Api) -> str:
    """Return the holder of the Lease; empty: none."""
    lease = server.store.get(scenes.LEASES, scenes.NAMES.lease)
    return str(part(lease, "spec").get("holderIdentity", ""))


def replicas(server: api.Api) -> int:
    """Return what is asked of the Deployment."""
    found = server.store.get(scenes.DEPLOYMENTS, scenes.WORKERS)
    return int(str(part(found, "spec")["replicas"]))


@pytest.mark.parametrize("frozen", [False, True], ids=["answering", "frozen"])
def test_it_stops_in_order_and_releases_the_lease(
    api_server: api.Api,
    database_url: str,
    db: Connection[TupleRow],
    tmp_path: Path,
    *,
    frozen: bool,
) -> None:
    """SIGTERM: no more decisions, then the Lease, as the last thing that is written.

    A database that has stopped to answer does not keep it from that.
    """
    policy_storage.store(db, POLICY)
    with program(api_server, database_url, tmp_path) as running:
        until(lambda: replicas(api_server) == 1, what="the pool's least", seconds=60)
        assert holder(api_server).startswith("me_")
        ((backend,),) = db.execute(BACKEND).fetchall()
        try:
            if frozen:
                os.kill(int(backend), signal.SIGSTOP)
            running.terminate()
            assert 0 == running.wait(40)
        finally:
            os.kill(int(backend), signal.SIGCONT) if frozen else None
    writes = [each for each in api_server.asked if each.verb in WRITES]

    assert "" == holder(api_server)
    assert ("update", "leases") == (writes[-1].verb, writes[-1].resource)
    assert "Traceback" not in (tmp_path / "log").read_text()


def failed(folder: Path) -> list[str]:
    """Return the threads that failed by the program's log."""
    said = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    return [each["thread"] for each in said if each["event"] == "thread.failed"]


def test_a_watch_that_ends_by_an_error_ends_the_program(
    api_server: api.Api, database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """It would decide on an old view of the pods; another acquires the Lease at once."""
    policy_storage.store(db, POLICY)
    broken = BROKEN % "pod"
    with program(api_server, database_url, tmp_path, before=broken) as running:
        until(lambda: replicas(api_server) == 1, what="the pool's least", seconds=60)
        api_server.store.create(scenes.PODS, objects.pod("a", "default"))

        assert 1 == running.wait(40)

    assert "" == holder(api_server)
    assert [f"watch pods {scenes.NAMES.pods}"] == failed(tmp_path)


def test_a_candidate_that_ends_by_an_error_ends_the_program(
    api_server: api.Api, database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """It would never stand for the Lease again, and look as if it waited for it."""
    policy_storage.store(db, POLICY)
    broken = BROKEN % "lease"
    with program(api_server, database_url, tmp_path, before=broken) as running:
        assert 1 == running.wait(60)

    assert ["lease"] == failed(tmp_path)


def test_a_bad_setting_is_one_sentence() -> None:
    """It names the variable and exits with 2."""
    environment = {**os.environ, "FAIRLEAD_TICK_SECONDS": "60"}
    command = [sys.executable, "-m", "fairlead_autoscaler.main"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )

    assert 2 == done.returncode
    assert done.stderr.startswith("fairlead: FAIRLEAD_TICK_SECONDS: ")
    assert 1 == done.stderr.count("\n")


def test_without_a_cluster_it_reports_that_and_exits(tmp_path: Path) -> None:
    """It runs in no pod, and it has no kubeconfig."""
    command = [sys.executable, "-m", "fairlead_autoscaler.main"]
    command += ["--kubeconfig", str(tmp_path / "none")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert 2 == done.returncode
    assert "none leads to no cluster" in done.stderr
    assert "Traceback" not in done.stderr
