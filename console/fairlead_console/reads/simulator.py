"""What `fairlead policy simulate` says of a document, run as a process beside the console.

One at a time for a console. It reads by the login by which the console looks, and never sees
the one by which people act.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Final, cast

from fairlead.settings import DatabaseSettings
from fairlead_console.reads.bounded_command import CPU_SECONDS_MAX, MEMORY_BYTES_MAX

SECONDS_MAX: Final = 55.0
"""Below the minute after which proxies give an answer up."""
_OUTPUT_BYTES_MAX = 1 << 20
_SAID = "fairlead: "
_COMMAND = ("policy", "simulate", "-", "--json")


class Simulating(Exception):
    """Another simulation is under way in this console."""


class NoSimulation(Exception):
    """It has not come to an end; the message is one sentence for people."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """The report, or why there is nothing to report."""

    report: Mapping[str, object] | None
    said: str
    """The command's sentence where there is no report: nothing waits, no worker is there."""


class Simulator:
    """Simulates documents, one after another.

    Args:
        settings: Where the database is, with the login by which the console looks.
    """

    def __init__(self, settings: DatabaseSettings) -> None:
        self._settings = settings
        self._one = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    def simulate(self, document: str, pool: str, slots: int | None) -> Simulated:
        """Simulate a document beside the policy in force, for a minute from now.

        Raises:
            Simulating: another one is under way; ask again later.
            NoSimulation: it failed, or took too long or too much.
        """
        if not self._one.acquire(blocking=False):
            raise Simulating
        try:
            more = () if slots is None else (f"--slots={slots}",)
            return self._run(document, (*_COMMAND, f"--pool={pool}", *more))
        finally:
            self._one.release()

    def close(self) -> None:
        """End what is under way, and begin no more."""
        self._is_closed = True
        process = self._process
        if process is not None:
            process.kill()

    def _run(self, document: str, arguments: tuple[str, ...]) -> Simulated:
        with TemporaryFile() as given, TemporaryFile() as output, TemporaryFile() as errors:
            given.write(document.encode())
            given.seek(0)
            process = self._process = subprocess.Popen(
                [sys.executable, "-m", "fairlead_console.reads.bounded_command", *arguments],
                stdin=given,
                stdout=output,
                stderr=errors,
                env=environment(self._settings),
            )
            if self._is_closed:
                process.kill()
            try:
                code = process.wait(SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise NoSimulation(f"it took longer than {SECONDS_MAX:.0f} s") from None
            finally:
                self._process = None
            for each in (output, errors):
                each.seek(0)
            return outcome(code, *(each.read(_OUTPUT_BYTES_MAX) for each in (output, errors)))


def outcome(code: int, output: bytes, errors: bytes) -> Simulated:
    """Return what the process said before it ended with this code.

    Raises:
        NoSimulation: it failed.
    """
    if code == 0:
        return Simulated(cast("dict[str, object]", json.loads(output)), "")
    said = errors.decode(errors="replace").strip()
    if said.startswith(_SAID) and "\n" not in said:
        if code == 1:
            return Simulated(None, said.removeprefix(_SAID))
        raise NoSimulation(said.removeprefix(_SAID))
    if code in (-signal.SIGXCPU, -signal.SIGKILL) or "MemoryError" in said:
        raise NoSimulation(
            f"it needed more than {CPU_SECONDS_MAX} s of a processor or "
            f"{MEMORY_BYTES_MAX >> 20} MiB of memory"
        )
    raise NoSimulation(f"it died with exit code {code}")


def environment(settings: DatabaseSettings) -> dict[str, str]:
    """Return the process's environment, without what only the console is to know."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("FAIRLEAD_CONSOLE_")
    }
    given = {name: getattr(settings, name) for name in DatabaseSettings.model_fields}
    return kept | {
        f"FAIRLEAD_{name.upper()}": str(value)
        for name, value in given.items()
        if value is not None
    }
