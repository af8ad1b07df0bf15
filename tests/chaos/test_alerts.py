"""A fault of a whole fleet fires its alert, in time and alone, and the runbook finds the cause.

Those of single parts are in the files beside this one.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.support.alerting import (
    CALM_SECONDS,
    alarmed,
    alone,
    await_calm,
    called,
    pausing,
)
from tests.support.observing import Watched

pytestmark = [pytest.mark.long, pytest.mark.any_server, pytest.mark.timeout(600)]

_OLDEST_READY_SECONDS = 10
_SERVER = {"max_connections": "60", "superuser_reserved_connections": "5"}
_OFTEN = {"FAIRLEAD_SCAN_SECONDS": "2"}
"""The age of a job that is not dispatched comes from scans, every 20 seconds by default."""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Yield a fleet with a little to do, and its alerts."""
    with alarmed(
        tmp_path_factory.mktemp("rules"),
        oldest_ready_seconds=_OLDEST_READY_SECONDS,
        server_settings=_SERVER,
        environment=_OFTEN,
    ) as running:
        yield running


@pytest.fixture(autouse=True)
def calm(fleet: Watched) -> None:
    """Wait for silence, whatever the test before did."""
    await_calm(fleet)


def test_a_tenant_that_starves_raises_an_alert(fleet: Watched, tmp_path: Path) -> None:
    """A pause of it was forgotten; the jobs of others are done."""
    name = "FairleadOldestJobWaits"
    with pausing(fleet, "mail", "starved"), alone(fleet, name):
        reader = called(fleet, name, tmp_path, seconds=60)
        oldest, *_ = reader.look()
        (job, tenant) = re.findall(r"^ *(\d+) .* mail +(\S+) ", oldest, re.MULTILINE)[0]
        reader.known.update({"TENANT": tenant, "JOB": job})
        _, explained, *_ = reader.look()
        (mended,) = reader.mend()
        fleet.wait_for_silence(name, CALM_SECONDS)

    assert "starved" == tenant
    assert "paused" in explained
    assert "resumed" in mended


def test_connections_that_run_out_raise_an_alert(fleet: Watched, tmp_path: Path) -> None:
    """An application holds idle ones, all that are left for those without special rights."""
    name = "FairleadConnectionsExhausted"
    most = fleet.wait_for("fairlead_db_connections_max")[0].value
    taken = fleet.query("sum(fairlead_db_connections)")[0].value
    with ExitStack() as taking, alone(fleet, name):
        for _ in range(int(most - taken)):
            taking.enter_context(closing(fleet.connect("greedy")))

        reader = called(fleet, name, tmp_path, seconds=60)
        doctor, sessions, *_ = reader.look()
        (application,) = re.findall(r"connections are taken; most by (\S+) \d+", doctor)
        reader.known["APPLICATION"] = application
        reader.mend()
        fleet.wait_for_silence(name, CALM_SECONDS)

    assert "greedy" == application
    assert re.search(r"greedy +\| .* \| idle +\|", sessions)


def test_a_snapshot_that_is_held_open_raises_an_alert(fleet: Watched, tmp_path: Path) -> None:
    """By an application that forgot to commit: no row that dies meanwhile is cleaned away."""
    name = "FairleadVacuumHeld"
    with closing(fleet.connect("report")) as holder, alone(fleet, name):
        holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        holder.execute("SELECT count(*) FROM fairlead.jobs")
        held = holder.info.backend_pid

        reader = called(fleet, name, tmp_path, seconds=90)
        _, sessions = reader.look()
        (pid,) = re.findall(
            r"^ *(\d+) \| report .* idle in transaction ", sessions, re.MULTILINE
        )
        reader.known["PID"] = pid
        reader.mend()
        fleet.wait_for_silence(name, CALM_SECONDS)

    assert str(held) == pid


def test_schedulers_that_are_killed_raise_an_alert(fleet: Watched, tmp_path: Path) -> None:
    """No scheduler leads; what follows from that raises no further alert."""
    name = "FairleadNoLeader"
    killed = [each for each in fleet.names() if each.startswith("scheduler")]
    with alone(fleet, name):
        for each in killed:
            fleet.kill(each)

        (doctor,) = called(fleet, name, tmp_path, seconds=30).look()
        for each in killed:
            fleet.start(each)
        fleet.wait_for_silence(name, CALM_SECONDS)

    assert "No scheduler leads" in doctor
    assert "$ fairlead scheduler" in doctor
