"""Run a handler in a process of its own: what `process=True` asks for.

Such a process serves one attempt at a time and is used again for the next. It speaks in JSON
lines over a socket pair. It can be killed without harm to anybody else, so a handler that does
not heed its deadline is ended here, and a process that dies takes one attempt with it.
"""

import contextlib
import json
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from time import monotonic, monotonic_ns
from typing import TypeAlias

from fairlead import errors, log
from fairlead.jsontext import Json
from fairlead_worker.attempt import Attempt
from fairlead_worker.child_orders import ChildOrders
from fairlead_worker.ledger_view import how_it_died
from fairlead_worker.outcome import Ending, Finished, HandedBack, Unsaid

Line: TypeAlias = dict[str, Json]
STOP_SECONDS = 2.0
"""How long a handler that was told to stop may take until its process is killed."""
START_SECONDS = 60.0
"""How long a process may take to load the application."""
REST_SECONDS = 5.0
"""How long a job rests for which none could be started; it is not to blame for that."""
_LOOK_SECONDS = 0.05


class Process:
    """One process that runs handlers.

    Args:
        orders: what the child was told.
        folder: where it is started.

    Raises:
        OSError: the machine has no room for another process.
    """

    def __init__(self, orders: ChildOrders, folder: Path) -> None:
        ours, theirs = socket.socketpair()
        try:
            command = [sys.executable, "-m", "fairlead_worker.apart_main"]
            command += ["--app", orders.app, "--pool", orders.pool]
            command += ["--log-format", orders.log_format, "--log-level", orders.log_level]
            self._process = subprocess.Popen(
                [*command, "--fd", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                cwd=folder,
            )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.settimeout(_LOOK_SECONDS)
        self._socket = ours
        self._inbox = bytearray()

    def say(self, line: Line) -> None:
        """Send a line; to a dead process, nothing."""
        with contextlib.suppress(OSError):  # its death is seen when it is heard
            self._socket.settimeout(None)
            self._socket.sendall(json.dumps(line).encode() + b"\n")
        self._socket.settimeout(_LOOK_SECONDS)

    def hear(self) -> Line | None:
        """Return the next line, or None when there is none for a moment.

        Raises:
            EOFError: the process is dead.
        """
        while b"\n" not in self._inbox:
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                return None
            except OSError:
                data = b""
            if not data:
                raise EOFError
            self._inbox += data
        line, _, rest = bytes(self._inbox).partition(b"\n")
        self._inbox = bytearray(rest)
        heard: Line = json.loads(line)
        return heard

    def hang_up(self) -> None:
        """Have it end by itself, once it has sent what it has traced."""
        self._socket.close()

    def kill(self, *, within_seconds: float = 0.0) -> int:
        """End it, if it has not ended within that time; return its exit code."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(within_seconds)
        self._process.kill()
        self._socket.close()
        return self._process.wait()

    def exit_code(self) -> int:
        """Return the exit code of a process that has hung up."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(STOP_SECONDS)
        return self.kill()


class Apart:
    """Runs attempts in processes, as many as are asked for at a time. Safe from any thread.

    Every process is started in the folder that is this one's now, where the application is
    looked for: a handler in a thread may have gone elsewhere since.

    Args:
        orders: what this child was told.
    """

    def __init__(self, orders: ChildOrders) -> None:
        self._orders = orders
        self._folder = Path.cwd()
        self._idle: deque[Process] = deque()
        self._log = log.get("worker.apart")

    def run(self, attempt: Attempt, begin: Callable[[], bool]) -> BaseException | None:
        """Run one attempt and give it its ending; block until then.

        `begin` notes the start once there is a process, so that loading the application in a
        new one takes nothing from the attempt's time; it says whether to go on. Where none can
        be started the job comes again a little later, and no attempt is used up.

        Returns:
            What the attempt has to end with instead, because its process was killed for not
            heeding that it should stop.
        """
        process = self._take()
        if isinstance(process, str):
            why = f"no process could be started for its handler: {process}"
            attempt.ending = HandedBack("snoozed", why, REST_SECONDS)
        elif begin():
            return self._run_in(process, attempt)
        else:
            self._idle.append(process)
        return None

    def _take(self) -> Process | str:
        """Return a process that has loaded the application, or why there is none."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._start()

    def _start(self) -> Process | str:
        try:
            process = Process(self._orders, self._folder)
        except OSError as error:
            self._log.error("process.failed", how=error.strerror)
            return str(error.strerror)
        until = monotonic() + START_SECONDS
        try:
            while process.hear() is None:
                if monotonic() > until:
                    process.kill()
        except EOFError:
            how = how_it_died(process.exit_code())
            self._log.error("process.failed", how=how)
            return f"it {how}"
        return process

    def _run_in(self, process: Process, attempt: Attempt) -> BaseException | None:
        try:
            attempt.ending = self._listen(process, attempt)
        except EOFError:
            how = f"the process of its handler {how_it_died(process.exit_code())}"
            attempt.ending = HandedBack("crashed", how)
            return None
        if attempt.ending == _KILLED:
            process.kill()
            return errors.Cancelled("it did not stop, so its process was killed")
        self._idle.append(process)
        return None

    def _listen(self, process: Process, attempt: Attempt) -> Ending | None:
        """Speak with the process until the handler has ended or must be killed."""
        left_us = attempt.deadline_us - monotonic_ns() // 1000
        trace = attempt.trace
        process.say(
            {
                "do": "run",
                "row": list(attempt.row),
                "left_seconds": left_us / 1e6,
                "timeout_seconds": attempt.timeout_seconds,
                "trace": {} if trace is None else dict[str, Json](trace.headers),
            }
        )
        kill_at: float | None = None
        while kill_at is None or monotonic() < kill_at:
            line = process.hear()
            if line is not None and line["say"] == "ended":
                if trace is not None and isinstance(line["raised"], dict):
                    trace.raised = {name: str(each) for name, each in line["raised"].items()}
                return from_line(line["ending"])
            if line is not None:
                _heed(line, attempt)
            if attempt.stop is not None and kill_at is None:
                kill_at = monotonic() + STOP_SECONDS
                process.say({"do": "stop", "why": attempt.stop})
        return _KILLED

    def close(self, *, within_seconds: float) -> None:
        """End the processes that are idle; they get so long for what they have traced."""
        until = monotonic() + within_seconds
        for process in self._idle:
            process.hang_up()
        while self._idle:
            self._idle.pop().kill(within_seconds=max(0.0, until - monotonic()))


_KILLED = HandedBack("crashed", "it did not stop")


def _heed(line: Line, attempt: Attempt) -> None:
    """Pass on what the handler reports."""
    match line:
        case {"say": "extend", "seconds": float(seconds)}:
            attempt.extend(seconds)
        case {"say": "report", "fraction": float(fraction), "note": str(note)}:
            attempt.report(fraction, note)
        case {"say": "completes"}:
            attempt.completes()
        case _:
            raise AssertionError(line)


def to_line(ending: Ending | None) -> Json:
    """Return an ending as JSON."""
    match ending:
        case Finished(outcome=how, result=result, error=error):
            return ["finished", how, result, error]
        case HandedBack(ended_as=how, error=error, delay_seconds=delay_seconds):
            return ["handed_back", how, error, delay_seconds]
        case Unsaid():
            return ["unsaid"]
        case _:
            return None


def from_line(ending: Json) -> Ending | None:
    """Return the ending that `to_line` wrote."""
    match ending:
        case ["finished", ("succeeded" | "failed" | "cancelled") as how, result, error]:
            return Finished(how, _text(result), _text(error))
        case ["handed_back", ("failed" | "snoozed" | "released") as how, error, delay]:
            return HandedBack(how, _text(error), None if delay is None else float(str(delay)))
        case ["unsaid"]:
            return Unsaid()
        case _:
            return None


def _text(value: Json) -> str | None:
    return None if value is None else str(value)
