"""The fleet as local processes: the same commands that the pods run, restarted when they die.

Every process runs in a session of its own, so that a Ctrl-C reaches only its owner, who then
stops them in order; on Linux they die with an owner that is killed. A process that dies is
started again under its name, as Kubernetes restarts a container in its pod; one that dies at
once, several times in a row, is given up.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

Say = Callable[[str, str], None]
"""Called with a process's name and one line that it wrote."""

_HEALTHY_SECONDS = 5.0
_QUICK_DEATHS_MAX = 3


@dataclass(frozen=True, slots=True)
class Program:
    """One process of the fleet: a name that is its own, and a module run with arguments.

    `rests`: it runs code that is being edited. Where that does not run, it is not given up: it
    rests until it is renewed.
    """

    name: str
    module: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    rests: bool = False


@dataclass(slots=True)
class _Running:
    program: Program
    process: subprocess.Popen[bytes]
    reader: threading.Thread
    started_seconds: float
    quick_deaths: int = 0
    dismissed: bool = False
    renewing: bool = False
    """It was asked to stop, and is started again at once."""
    resting: bool = False
    """It has ended, and waits for `renew`."""


class Fleet:
    """Keeps programs running until asked to stop.

    Args:
        environment: what every program finds beside this process's own environment; of that,
            the file that names another database is left out.
        say: where the lines go that the programs write.
        folder: the working folder of the programs.

    """

    def __init__(self, *, environment: Mapping[str, str], say: Say, folder: Path) -> None:
        self._environment = environment
        self._say = say
        self._folder = folder
        self._running: dict[str, _Running] = {}
        self.given_up: tuple[str, ...] = ()

    def start(self, program: Program, *, quick_deaths: int = 0) -> None:
        """Start a program; its name must not be running."""
        owned = [sys.executable, "-m", "fairlead_cli.dev.bound_module", str(os.getpid())]
        process = subprocess.Popen(
            [*owned, program.module, *program.arguments],
            cwd=self._folder,
            env={**_inherited(), **self._environment, **program.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        reader = threading.Thread(
            target=self._read, args=(program.name, process), name=f"read {program.name}"
        )
        reader.start()
        self._running[program.name] = _Running(
            program, process, reader, monotonic(), quick_deaths
        )

    def pid(self, name: str) -> int:
        """Return the process id of a program that was started."""
        return self._running[name].process.pid

    def names(self) -> Sequence[str]:
        """Return the names of the programs that are meant to run, or have not ended yet."""
        return tuple(self._running)

    def dismiss(self, name: str) -> None:
        """Ask a program to stop, and do not start it again: ended, it is forgotten."""
        self._running[name].dismissed = True
        self.ask([name])

    def renew(self, names: Sequence[str]) -> None:
        """Ask programs to stop, and start each again as soon as it has ended.

        One that has been asked and has not ended yet is not asked again, which would hurry it.
        """
        for name in names:
            each = self._running[name]
            if not each.renewing:
                self.ask([name])
            each.renewing, each.resting = True, False

    def revive(self) -> tuple[str, ...]:
        """Start again what has died since the last call; answer the names of all that ended.

        A program that died within five seconds of each of its last three starts is not started
        again: it is in `given_up`, or rests.
        """
        dead = [each for each in self._running.values() if _has_ended(each)]
        for each in dead:
            name, code = each.program.name, each.process.returncode
            lived_seconds = monotonic() - each.started_seconds
            quick = each.quick_deaths + 1 if lived_seconds < _HEALTHY_SECONDS else 0
            del self._running[name]
            each.reader.join()
            if each.dismissed:
                continue
            if each.renewing:
                self.start(each.program)
                continue
            if code == 2 or quick >= _QUICK_DEATHS_MAX:
                if each.program.rests:
                    each.resting = True
                    self._running[name] = each
                    self._say(name, f"ended with exit code {code}; a save starts it again")
                    continue
                self.given_up = (*self.given_up, name)
                self._say(name, f"ended with exit code {code} and is not started again")
                continue
            self._say(name, f"ended with exit code {code}; starting it again")
            self.start(each.program, quick_deaths=quick)
        return tuple(each.program.name for each in dead)

    def kill(self, name: str) -> None:
        """End a program with SIGKILL, as a node that burns does."""
        os.kill(self.pid(name), signal.SIGKILL)
        self._running[name].process.wait()

    def ask(self, names: Sequence[str]) -> None:
        """Ask programs to stop; asking a second time tells them to hurry."""
        for name in names:
            each = self._running[name]
            if each.renewing:  # it has been asked
                each.renewing = False
            elif each.process.poll() is None:
                each.process.send_signal(signal.SIGTERM)

    def wait(self, names: Sequence[str], *, seconds: float) -> bool:
        """Wait until the programs have ended; answer whether all of them have."""
        until = monotonic() + seconds
        for name in names:
            try:
                self._running[name].process.wait(max(0.0, until - monotonic()))
            except subprocess.TimeoutExpired:
                return False
        return True

    def end(self, names: Sequence[str], *, seconds: float) -> None:
        """Stop programs: ask, wait, ask again, and kill what is left after that."""
        self.ask(names)
        if not self.wait(names, seconds=seconds):
            self.ask(names)
            if not self.wait(names, seconds=5.0):
                for name in names:
                    if self._running[name].process.poll() is None:
                        self.kill(name)
        for name in names:
            self._running.pop(name).reader.join()

    def _read(self, name: str, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                self._say(name, line.decode(errors="replace").rstrip())


def _has_ended(each: _Running) -> bool:
    """Tell whether a program has ended and something is to be done about it."""
    rests = each.resting and not each.dismissed
    return each.process.poll() is not None and not rests


_OF_ONE_PROGRAM = ("FAIRLEAD_DATABASE_URL_FILE", "FAIRLEAD_HEALTH_PORT")
"""A second word on where the database is, and a port that only one of them could have."""


def _inherited() -> Mapping[str, str]:
    """Return this process's environment without what would set its programs at odds."""
    return {name: value for name, value in os.environ.items() if name not in _OF_ONE_PROGRAM}
