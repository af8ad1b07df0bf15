"""The trial database's script, run here: it makes a server on which every role can work."""

import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from fairlead_cli.dev.account import account, reachable
from fairlead_cli.dev.binaries import binaries
from fairlead_cli.dev.ports import free_port
from tests.support.chart import CHART
from tests.support.databases import fast_folder
from tests.support.waiting import until

ROLES = (
    "owner",
    "scheduler",
    "worker",
    "autoscaler",
    "enqueue",
    "admin",
    "console",
    "operator",
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a folder with a password for each role."""
    made = Path(tempfile.mkdtemp(prefix="fairlead-test-", dir=fast_folder()))
    made.chmod(0o755)
    (made / "passwords").mkdir(mode=0o755)
    (made / "data").mkdir()
    account().own(made / "data")
    for role in ROLES:
        (made / "passwords" / role).write_text(f"first{role}")
    yield made
    shutil.rmtree(made)


@contextmanager
def started(folder: Path) -> Generator[int]:
    """Run the script as a pod does, but on loopback alone; yield the port that it serves."""
    text = (CHART / "files/trial-database.sh").read_text("utf-8")
    script = folder / "start.sh"
    here = text.replace("listen_addresses='*'", "listen_addresses=127.0.0.1")
    script.write_text(here.replace("directories=/tmp", f"directories={folder / 'data'}"))
    port = free_port()
    who = account()
    path = f"{reachable(binaries(), who, copies=folder)}:/usr/bin:/bin"
    variables = [f"PATH={path}", f"PGDATA={folder / 'data/pg'}", f"PGPORT={port}"]
    with (folder / "log").open("ab") as log:
        command = ["/usr/bin/env", *variables, f"PASSWORDS={folder / 'passwords'}"]
        process = who.popen([*command, "/bin/sh", script], cwd=folder, output=log)
    try:
        until(lambda: _serves(port), what="the trial database's start", seconds=30)
        yield port
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def _serves(port: int) -> bool:
    try:
        log_in(port, "admin", "firstadmin").close()
    except psycopg.OperationalError:
        return False
    return True


def log_in(port: int, role: str, password: str) -> Connection[TupleRow]:
    """Connect as the chart's URL for the role says."""
    url = f"postgresql://trial_{role}:{password}@127.0.0.1:{port}/fairlead"
    return psycopg.connect(url, autocommit=True)


def test_the_trial_database_has_a_login_for_each_role(folder: Path) -> None:
    """The owner migrates without a warning, and each login may do its role's work, no more."""
    with started(folder) as port:
        with log_in(port, "owner", "firstowner") as owner:
            warnings: list[str | None] = []
            owner.add_notice_handler(
                lambda said: (
                    warnings.append(said.message_primary)
                    if said.severity_nonlocalized == "WARNING"
                    else None
                )
            )
            migrate(owner)
        for role in ROLES[1:]:
            with log_in(port, role, f"first{role}") as connection:
                version = connection.execute(
                    "SELECT max(version) FROM fairlead.schema_versions"
                )
                assert version.fetchone()
        with log_in(port, "enqueue", "firstenqueue") as application:
            application.execute("INSERT INTO fairlead.jobs (kind) VALUES ('hello')")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                application.execute("DELETE FROM fairlead.jobs")

    assert [] == warnings


def test_a_restart_keeps_the_data_and_takes_new_passwords(folder: Path) -> None:
    """Passwords are set at every start; the cluster is made once."""
    with started(folder) as port, log_in(port, "owner", "firstowner") as owner:
        owner.execute("CREATE TABLE kept (id int)")
    (folder / "passwords/owner").write_text("second")

    with started(folder) as port:
        with pytest.raises(psycopg.OperationalError):
            log_in(port, "owner", "firstowner")
        with log_in(port, "owner", "second") as owner:
            assert owner.execute("SELECT count(*) FROM kept").fetchone() == (0,)
