"""A web application of an example or of a page, served as its users serve it."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from fairlead_cli.dev.ports import free_port
from tests.support import tree
from tests.support.waiting import until

_STARTED = "Application startup complete"


@contextmanager
def served(app: str, folder: Path, database_url: str, *, log: Path) -> Generator[httpx2.Client]:
    """Serve an application of a folder with uvicorn; yield a client of it."""
    port = free_port()
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", app, "--port", str(port)],
            cwd=folder,
            env={
                **os.environ,
                "FAIRLEAD_DATABASE_URL": database_url,
                "PYTHONPATH": os.pathsep.join([str(folder), tree.SOURCES]),
            },
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        until(lambda: _STARTED in log.read_text(), what="a web server", seconds=60)
        address = f"http://127.0.0.1:{port}"
        with httpx2.Client(base_url=address, timeout=30, follow_redirects=True) as client:
            yield client
    finally:
        server.terminate()
        server.wait(30)
        print(log.read_text())  # noqa: T201 - shown where the test fails
