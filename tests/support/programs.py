"""Programs as processes: a new interpreter for each, or a fork of one that has loaded them.

A new interpreter takes half a second of a processor to load a service, a fork hardly any. A
forked program runs its `main` with the arguments, environment and files that a new interpreter
would have, in a session of its own. Its process's parent is the one that forks, and the
interpreter's variables, such as PYTHONHASHSEED, are those of that one.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Protocol

from tests.support import preforked

UNHURRIED = {
    "FAIRLEAD_WORKER_LEASE_SECONDS": "120",
    "FAIRLEAD_WORKER_CALL_SECONDS": "30",
    "FAIRLEAD_NETWORK_TIMEOUT_SECONDS": "60",
    "FAIRLEAD_LEASE_SECONDS": "60",
}
"""Settings of a fleet of which no service is killed: no load of the machine ends a lease."""


class Process(Protocol):
    """What tests ask of a process; as `subprocess.Popen` has it."""

    @property
    def pid(self) -> int:
        """Its id."""
        ...

    def poll(self) -> int | None:
        """Return its exit code, negative for a signal; None while it lives."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return its exit code."""
        ...

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless it is known to have ended."""
        ...

    def terminate(self) -> None:
        """Send SIGTERM."""
        ...

    def kill(self) -> None:
        """Send SIGKILL."""
        ...


class Start(Protocol):
    """Starts a module as a program; what it says is appended to the log."""

    def __call__(
        self,
        module: str,
        arguments: Sequence[str],
        *,
        env: Mapping[str, str],
        log: Path,
        within: Sequence[str] = (),
    ) -> Process:
        """Start it in a session of its own; `within` is a command that starts it elsewhere."""
        ...


def anew(
    module: str,
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    log: Path,
    within: Sequence[str] = (),
) -> Process:
    """Start a program in a new interpreter, as it is started in earnest."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [*within, sys.executable, "-m", module, *arguments],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def forked(
    module: str,
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    log: Path,
    within: Sequence[str] = (),
) -> Process:
    """Fork a program where that is the same.

    One that is started elsewhere, or with a library of its own, is not.
    """
    if within or module not in preforked.PROGRAMS or "LD_PRELOAD" in env:
        return anew(module, arguments, env=env, log=log, within=within)
    with log.open("ab") as output:
        return Forked(preforked.fork_program(module, arguments, output.fileno(), env=env))


class Forked:
    """A process of the fork server's, with the methods of `subprocess.Popen`."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """Its id."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Return its exit code, negative for a signal; None while it lives."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return its exit code."""
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0.0)
        return code

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless it is known to have ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)
