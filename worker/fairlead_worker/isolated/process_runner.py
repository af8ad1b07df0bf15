"""Run a handler in a process of its own: what `process=True` asks for.

Such a process serves one attempt at a time and is used again for the next. It exchanges JSON
lines over a socket pair. Killing it harms no other attempt, so a handler that ignores its
deadline is ended here, and a process that dies takes one attempt with it.
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

from fairlead import errors
from fairlead.jsontext import Json
from fairlead.lifecycle import Lifespan
from fairlead.runtime import log
from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.attempts.outcome import Ending, Finished, HandedBack, JobLost
from fairlead_worker.ipc.child_args import ChildArguments
from fairlead_worker.ipc.interruptions import how_it_died

Line: TypeAlias = dict[str, Json]
STOP_SECONDS = 2.0
"""How long a handler that was stopped may take until its process is killed."""
START_SECONDS = 60.0
"""How long a process may take to load the application."""
LIFESPAN_END_SECONDS = 5.0
"""How long a process may take to leave the application's lifespan."""
SNOOZE_SECONDS = 5.0
"""How long a job is put off for which no process could be started."""
_POLL_SECONDS = 0.05


class HandlerProcess:
    """One process that runs handlers.

    Args:
        arguments: the child's command line.
        folder: where it is started.

    Raises:
        OSError: the machine has no room for another process.
    """

    def __init__(self, arguments: ChildArguments, folder: Path) -> None:
        ours, theirs = socket.socketpair()
        try:
            command = [sys.executable, "-m", "fairlead_worker.isolated.process_main"]
            command += ["--app", arguments.app, "--pool", arguments.pool]
            command += [
                "--log-format",
                arguments.log_format,
                "--log-level",
                arguments.log_level,
            ]
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
        ours.settimeout(_POLL_SECONDS)
        self._socket = ours
        self._inbox = bytearray()
        self.is_over = False
        """Whether its lifespan has ended by itself, so that it runs nothing more."""

    def send(self, line: Line) -> None:
        """Send a line; to a dead process, nothing."""
        with contextlib.suppress(OSError):  # `receive` sees its death
            self._socket.settimeout(None)
            self._socket.sendall(json.dumps(line).encode() + b"\n")
        self._socket.settimeout(_POLL_SECONDS)

    def receive(self) -> Line | None:
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
        received: Line = json.loads(line)
        return received

    def hang_up(self) -> None:
        """Let it end by itself, once it has sent what it has traced."""
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


class ProcessRunner:
    """Runs attempts in processes, as many at a time as are called for. Safe from any thread.

    Every process is started in the folder that is this one's now, where the application is
    looked up: a handler in a thread may have changed the folder since.

    Args:
        arguments: this child's command line.
        lifespan: what each process enters before its first job.
    """

    def __init__(self, arguments: ChildArguments, lifespan: Lifespan | None) -> None:
        self._arguments = arguments
        self._start_seconds = START_SECONDS + (lifespan.start_seconds if lifespan else 0.0)
        self._end_seconds = LIFESPAN_END_SECONDS if lifespan else 0.0
        self._folder = Path.cwd()
        self._idle: deque[HandlerProcess] = deque()
        self._log = log.get("worker.isolated")

    def run(self, attempt: Attempt, begin: Callable[[], bool]) -> BaseException | None:
        """Run one attempt and give it its ending; block until then.

        `begin` records the start once there is a process, so that loading the application in a
        new one takes nothing from the attempt's time; it returns whether to go on. Where none
        can be started the job is put off a little, and no attempt is used up.

        Returns:
            The error to end with, of an attempt whose process was killed for not stopping.
        """
        process = self._take()
        if isinstance(process, str):
            why = f"no process could be started for its handler: {process}"
            attempt.ending = HandedBack("snoozed", why, SNOOZE_SECONDS)
        elif begin():
            return self._run_in(process, attempt)
        else:
            self._idle.append(process)
        return None

    def _take(self) -> HandlerProcess | str:
        """Return a process that has loaded the application, or why there is none."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._start()

    def _start(self) -> HandlerProcess | str:
        try:
            process = HandlerProcess(self._arguments, self._folder)
        except OSError as error:
            self._log.error("process.failed", reason=error.strerror)
            return str(error.strerror)
        until = monotonic() + self._start_seconds
        try:
            while process.receive() is None:
                if monotonic() > until:
                    process.kill()
        except EOFError:
            how = how_it_died(process.exit_code())
            self._log.error("process.failed", reason=how)
            return f"it {how}"
        return process

    def _run_in(self, process: HandlerProcess, attempt: Attempt) -> BaseException | None:
        try:
            attempt.ending = self._await_end(process, attempt)
        except EOFError:
            how = f"the process of its handler {how_it_died(process.exit_code())}"
            attempt.ending = HandedBack("crashed", how)
            return None
        if attempt.ending == _KILLED:
            process.kill()
            return errors.Cancelled("it did not stop, so its process was killed")
        if process.is_over:
            process.hang_up()
            process.kill(within_seconds=self._end_seconds)
        else:
            self._idle.append(process)
        return None

    def _await_end(self, process: HandlerProcess, attempt: Attempt) -> Ending | None:
        """Exchange lines with the process until the handler has ended or must be killed."""
        left_us = attempt.deadline_us - monotonic_ns() // 1000
        trace = attempt.trace
        process.send(
            {
                "type": "run",
                "row": list(attempt.row),
                "left_seconds": left_us / 1e6,
                "extensible_seconds": attempt.extensible_seconds,
                "timeout_seconds": attempt.timeout_seconds,
                "trace": {} if trace is None else dict[str, Json](trace.headers),
            }
        )
        kill_at: float | None = None
        while kill_at is None or monotonic() < kill_at:
            line = process.receive()
            if line is not None and line["type"] == "ended":
                process.is_over = bool(line["over"])
                if trace is not None and isinstance(line["raised"], dict):
                    trace.raised = {name: str(each) for name, each in line["raised"].items()}
                return from_line(line["ending"])
            if line is not None:
                _apply_report(line, attempt)
            if attempt.stop is not None and kill_at is None:
                kill_at = monotonic() + STOP_SECONDS
                process.send({"type": "stop", "why": attempt.stop})
        return _KILLED

    def close(self, *, within_seconds: float) -> None:
        """End the processes that are idle; they get so long to send what they have traced.

        And a moment to leave their lifespans, if there is one.
        """
        until = monotonic() + max(within_seconds, self._end_seconds)
        for process in self._idle:
            process.hang_up()
        while self._idle:
            self._idle.pop().kill(within_seconds=max(0.0, until - monotonic()))


_KILLED = HandedBack("crashed", "it did not stop")


def _apply_report(line: Line, attempt: Attempt) -> None:
    """Pass on what the handler reports."""
    match line:
        case {"type": "extend", "seconds": float(seconds)}:
            attempt.extend(seconds)
        case {"type": "report", "fraction": float(fraction), "note": str(note)}:
            attempt.report(fraction, note)
        case {"type": "checkpoint", "text": str(text)}:
            attempt.save_checkpoint(text)
        case {"type": "completes"}:
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
        case JobLost():
            return ["job_lost"]
        case _:
            return None


def from_line(ending: Json) -> Ending | None:
    """Return the ending that `to_line` wrote."""
    match ending:
        case ["finished", ("succeeded" | "failed" | "cancelled") as how, result, error]:
            return Finished(how, _text(result), _text(error))
        case ["handed_back", ("failed" | "snoozed" | "released") as how, error, delay]:
            return HandedBack(how, _text(error), None if delay is None else float(str(delay)))
        case ["job_lost"]:
            return JobLost()
        case _:
            return None


def _text(value: Json) -> str | None:
    return None if value is None else str(value)
