"""The console for tests: its application for a client, and a process that a browser opens."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from starlette.testclient import TestClient

from fairlead_console.screens.source import Source
from fairlead_console.settings import ConsoleSettings
from fairlead_console.web.app import Console
from tests.support import tree
from tests.support.waiting import until

_SAID = "The console is at "
SCREENS = (
    *("/", "/queues", "/jobs", "/failures", "/tenants", "/schedules", "/autoscaler"),
    *("/policy", "/audit"),
)
HERE = "http://127.0.0.1"


@contextmanager
def browsing(
    url: str, *, base: str = HERE, peer: str = "127.0.0.1", **settings: object
) -> Generator[TestClient]:
    """Yield a client of a console over this database, which connects from an address."""
    read = ConsoleSettings.model_validate({"database_url": url, **settings})
    source = Source.of(read)
    source.pulse.start()
    try:
        yield TestClient(
            Console(read, source).app(),
            base_url=base,
            raise_server_exceptions=False,
            client=(peer, 50_000),
        )
    finally:
        source.close()


@contextmanager
def console(url: str, folder: Path, **environment: str) -> Generator[str]:
    """Run a console on a free port; yield its address."""
    log = folder / "console.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "fairlead_console.main", "--port", "0"],
            env={
                **os.environ,
                **environment,
                "FAIRLEAD_DATABASE_URL": url,
                "PYTHONPATH": tree.SOURCES,
            },
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        until(lambda: _SAID in log.read_text(), what="the console", seconds=60)
        yield log.read_text().partition(_SAID)[2].split()[0]
    finally:
        process.terminate()
        code = process.wait(30)
        print(log.read_text())  # noqa: T201 - shown where the test fails
    assert code == 0
