"""The process that runs handlers with `process=True`, started as a child starts it."""

import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest


@contextmanager
def started() -> Generator[tuple[socket.socket, subprocess.Popen[bytes]]]:
    """Yield the child's end of the socket, and the process; kill that if it has not ended."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            command = [sys.executable, "-m", "fairlead_worker.isolated.process_main"]
            command += ["--app", "tests.support.child_app:tasks", "--pool", "default"]
            command += ["--log-format", "json", "--log-level", "info"]
            process = subprocess.Popen(
                [*command, "--fd", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stderr=subprocess.PIPE,
            )
        with process:
            try:
                yield ours, process
            finally:
                process.kill()


@pytest.mark.parametrize("loaded", [False, True], ids=["loads", "says that it has loaded"])
def test_a_process_whose_child_dies_while_it_starts_ends_quietly(*, loaded: bool) -> None:
    """A worker's log has no traceback for what is no fault."""
    with started() as (child, process):
        if loaded:
            child.recv(1, socket.MSG_PEEK)  # and the child dies before it has read it
        child.close()

        _, said = process.communicate(timeout=60)

    assert (0, b"") == (process.returncode, said)
