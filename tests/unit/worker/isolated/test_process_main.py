"""The process that runs handlers with `process=True`, started as a child starts it."""

import socket
import subprocess
import sys


def test_a_process_whose_child_died_while_it_loaded_ends_quietly() -> None:
    """A worker's log has no traceback for what is no fault."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-m", "fairlead_worker.isolated.process_main"]
        command += ["--app", "tests.support.child_app:tasks", "--pool", "default"]
        command += ["--log-format", "json", "--log-level", "info"]
        process = subprocess.Popen(
            [*command, "--fd", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stderr=subprocess.PIPE,
        )
    ours.close()

    _, said = process.communicate(timeout=30)

    assert (0, b"") == (process.returncode, said)
