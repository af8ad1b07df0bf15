"""The bench's accounting of the processes it has started."""

import os
import sys
from pathlib import Path

import pytest

from bench.processes import adopting_orphans, start, tree_cpu_seconds, wait_until

pytestmark = pytest.mark.any_server

_BURN = """
import pathlib, signal, sys, time
while time.process_time() < 0.4:
    pass
pathlib.Path(sys.argv[1]).touch()
signal.pause()
"""
_PARENT = f"""
import signal, subprocess, sys
subprocess.Popen([sys.executable, "-c", {_BURN!r}, sys.argv[1]], process_group=0)
signal.pause()
"""


def test_what_a_killed_workers_child_has_used_is_still_counted(tmp_path: Path) -> None:
    """It has its own process group, so only the bench can reap it."""
    done = tmp_path / "done"
    argv = [sys.executable, "-c", _PARENT, str(done)]
    with adopting_orphans():
        parent = start("parent", argv, log=tmp_path / "log")
        wait_until("the child has worked", done.exists, watching=(parent,))
        used = tree_cpu_seconds(os.getpid())

        parent.kill()

        assert used <= tree_cpu_seconds(os.getpid())
