"""A test run that is killed leaves no process and no folder behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead_cli.dev import process_table
from tests.support import tree
from tests.support.leftovers import FOLDER
from tests.support.waiting import until

TEST = """
import signal
from pathlib import Path
import psycopg
def test_it(server):
    session = psycopg.connect(server.url)
    pids = [server.pid, session.info.backend_pid]
    Path("said").write_text(" ".join(map(str, pids)) + f" {server.data_dir}")
    signal.pause()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of others' variables")
def test_a_killed_run_leaves_no_server_behind(tmp_path: Path) -> None:
    """As a timeout kills it, before any fixture has come to its end."""
    path, said = tmp_path / "test_it.py", tmp_path / "said"
    path.write_text(TEST)
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
    }
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", str(path)],
        cwd=tmp_path,
        env={**inherited, "PYTHONPATH": tree.SOURCES},
    ) as run:
        try:
            text = until(
                lambda: said.read_text() if said.exists() else "", what="a server", seconds=90
            )
        finally:
            run.kill()

    *numbers, data = text.split()
    assert Path(data).parent.name.startswith(FOLDER)
    until(
        lambda: not {int(each) for each in numbers} & process_table.living().keys(),
        what="the end of its server",
    )
    until(lambda: not Path(data).parent.exists(), what="the end of its folder")
