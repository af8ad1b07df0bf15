"""A service that is started with the wrong login says which role it lacks, once, and ends."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import access
from fairlead.db.migrate import migrate
from tests.chaos.fleet import fleet
from tests.support.kubernetes import api, scenes
from tests.support.kubernetes.program import environment, kubeconfig
from tests.support.logins import as_login, login
from tests.support.programs import forked
from tests.support.schedulers import led, scheduler_process
from tests.support.tree import SOURCES
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

SERVICES = ("scheduler", "worker", "autoscaler")


def ended(
    service: str, url: str, folder: Path, arguments: Sequence[str], given: Mapping[str, str]
) -> tuple[int, str]:
    """Run a service that is to be refused; return its exit code and all that it wrote."""
    (folder / "shop.py").write_text("import fairlead\n\ntasks = fairlead.Tasks()\n")
    done = subprocess.run(
        [sys.executable, "-m", f"fairlead_{service}.main", *arguments],
        check=False,
        capture_output=True,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(folder), SOURCES]),
            **given,
            "FAIRLEAD_DATABASE_URL": url,
            "FAIRLEAD_LOG_FORMAT": "json",
        },
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


def refused(service: str, url: str, folder: Path) -> tuple[int, str]:
    """Start one of the services, with all that it needs but the right login."""
    if service != "autoscaler":
        return ended(
            service, url, folder, ["--app", "shop:tasks"] if service == "worker" else [], {}
        )
    with api.running() as server:
        scenes.install(server.client())
        config = ["--kubeconfig", str(kubeconfig(server, folder))]
        return ended(
            service, url, folder, config, environment(url, {"default": scenes.WORKERS})
        )


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("role", ["fairlead_enqueue", None])
def test_a_service_without_its_role_says_so_once_and_exits_with_2(
    database_url: str, tmp_path: Path, service: str, role: str | None
) -> None:
    """Waiting would not help: a person has to grant it. The sentence has the command."""
    with login(database_url, *([role] if role else [])) as name:
        code, said = refused(service, as_login(database_url, name), tmp_path)

    about = [line for line in said.splitlines() if name in line]
    people = [line for line in said.splitlines() if line.startswith("fairlead: ")]
    assert (2, 1) == (code, len(about)), said
    assert about == people
    assert f"the login {name} is no member of fairlead_{service}," in about[0]
    assert f"run `fairlead roles grant {name} --as {service}`" in about[0]


def test_a_service_that_has_its_role_waits_for_the_rest_of_an_installation(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """`migrate` gives rights last; a service that starts before that is not wrong."""
    db.execute("REVOKE USAGE ON SCHEMA fairlead FROM fairlead_scheduler")
    with login(database_url, "fairlead_scheduler") as name:
        url = as_login(database_url, name)
        with scheduler_process(url, log_format="json") as process:
            assert process.stderr is not None
            waits = json.loads(process.stderr.readline())
            migrate(db)
            led(db)

    assert "scheduler.waiting" == waits["event"]
    assert "`fairlead migrate` does last" in waits["reason"]


def test_a_worker_that_has_its_role_waits_for_the_rest_of_an_installation(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """It registers once it may."""
    db.execute("REVOKE USAGE ON SCHEMA fairlead FROM fairlead_worker")
    with (
        login(database_url, "fairlead_worker") as name,
        fleet(database_url, tmp_path, starts=forked) as made,
    ):
        url = as_login(database_url, name)
        worker = made.start(
            "early", "fairlead_worker.main", "--app", "tests.chaos.app:tasks", url=url
        )
        until(
            lambda: "`fairlead migrate` does last" in worker.log.read_text(),
            what="the reason",
            seconds=20,
        )
        migrate(db)
        until(lambda: worker.said("worker.registered"), what="a worker", seconds=20)


@pytest.mark.parametrize("service", [access.WORKER, access.SCHEDULER, access.AUTOSCALER])
def test_who_may_do_all_needs_no_role(
    db: Connection[TupleRow], service: access.Service
) -> None:
    """The schema's owner has every right, and so has a login to which all were granted."""
    assert access.lacking(db, service) is None
    db.execute("DROP SCHEMA fairlead CASCADE")
    assert access.lacking(db, service) is None


def test_a_login_that_does_not_inherit_is_told_so(database_url: str) -> None:
    """It is a member, and has none of the role's rights unless it sets the role."""
    with (
        login(database_url, options="NOINHERIT") as name,
        psycopg.connect(database_url, autocommit=True) as owner,
        psycopg.connect(as_login(database_url, name), autocommit=True) as session,
    ):
        owner.execute(f"GRANT fairlead_worker TO {name}".encode())

        with pytest.raises(access.RoleMissing, match="does not inherit the rights of"):
            access.lacking(session, access.WORKER)
