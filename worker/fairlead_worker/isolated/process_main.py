"""The process that runs handlers with `process=True`, one at a time; see `process_runner`."""

import argparse
import asyncio
import contextlib
import json
import os
import socket
import sys
import threading
from collections.abc import Coroutine
from contextvars import Context
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING, cast

from fairlead.application import AppError, load
from fairlead.job import MAX_ATTEMPTS, Claimed, Job
from fairlead.jsontext import Json
from fairlead.runtime import log
from fairlead.runtime.forked_copy import end_if_copy
from fairlead.runtime.parent_death import die_with_parent, leave_signals_to_parent
from fairlead.tasks import Coroutines, Tasks
from fairlead_worker.attempts import outcome
from fairlead_worker.attempts.attempt import bounded_extension
from fairlead_worker.attempts.error_callback import ErrorCallback
from fairlead_worker.attempts.outcome import Ending, HandedBack, Stop
from fairlead_worker.attempts.traceback_text import clean
from fairlead_worker.ipc.child_args import LIFESPAN_FAILED
from fairlead_worker.isolated.process_runner import SNOOZE_SECONDS, Line, to_line
from fairlead_worker.lifecycle.process_lifespan import (
    LifespanFailed,
    ProcessLifespan,
    report_failure,
)
from fairlead_worker.tracing import setup

if TYPE_CHECKING:
    from fairlead_worker.tracing.spans import Spans  # which needs an extra

_OUTDATED_SECONDS = 10.0


class RemoteAttempt:
    """An attempt seen from its process: its reports go over the socket.

    Args:
        to_child: the socket to the child.
        left_seconds: until its deadline.
        extensible_seconds: until the last deadline that it may have; None: there is none.
    """

    def __init__(
        self, to_child: socket.socket, left_seconds: float, extensible_seconds: float | None
    ) -> None:
        self._socket = to_child
        self._lock = threading.Lock()
        self._extensible_until = (
            None if extensible_seconds is None else monotonic() + extensible_seconds
        )
        self.deadline = datetime.now(UTC) + timedelta(seconds=left_seconds)
        self.stop: Stop | None = None
        self.max_attempts = MAX_ATTEMPTS

    @property
    def cancelled(self) -> bool:
        """Whether the handler should stop."""
        return self.stop is not None

    def extend(self, by_seconds: float) -> datetime:
        """Move the deadline, as the child does with its own when it gets the line."""
        until = self._extensible_until
        seconds = bounded_extension(by_seconds, None if until is None else until - monotonic())
        self.deadline = max(self.deadline, datetime.now(UTC) + timedelta(seconds=seconds))
        self.send({"type": "extend", "seconds": by_seconds})
        return self.deadline

    def report(self, fraction: float, note: str) -> None:
        """Note how far the work is."""
        self.send({"type": "report", "fraction": fraction, "note": note})

    def save_checkpoint(self, text: str) -> None:
        """Keep what the next attempt goes on from."""
        self.send({"type": "checkpoint", "text": text})

    def stores_checkpoint(self, _text: str) -> bool:
        """Let the handler store one itself; True: the database is called."""
        return True

    def completes(self) -> bool:
        """Note that the handler finishes the job itself; True: the database is called."""
        self.send({"type": "completes"})
        return True

    def send(self, line: Line) -> bool:
        """Send a line to the child; return whether that went, or the socket is closed."""
        with self._lock, contextlib.suppress(OSError):
            self._socket.sendall(json.dumps(line).encode() + b"\n")
            return True
        return False


class ProcessServer:
    """Runs what the child sends, in the main thread; a second thread listens.

    Args:
        app: the application.
        to_child: the socket to the child.
        spans: where spans of handlers go; None: they are not traced.
        loop: where coroutines run, and the lifespan if it is asynchronous.

    Raises:
        LifespanFailed: the application's lifespan has not started.
    """

    def __init__(
        self,
        app: Tasks,
        to_child: socket.socket,
        spans: "Spans | None",
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._lifespan = ProcessLifespan(app, loop)
        self._handlers = self._lifespan.start()
        self._lifespan.watch(lambda: None)
        self._error_callback = ErrorCallback(app.on_error)
        self._socket = to_child
        self._spans = spans
        self._inbox: asyncio.Queue[Line | None] = asyncio.Queue()
        self._current: RemoteAttempt | None = None
        self._hung_up = False
        self._loop = loop
        self._task: asyncio.Task[object] | None = None
        self._pid = os.getpid()

    def listen(self) -> None:
        """Take lines until the child hangs up; then end this process, whatever runs in it."""
        # One that dies with lines unread resets the connection, which is a hang-up too.
        with contextlib.suppress(ConnectionResetError), self._socket.makefile("rb") as lines:
            for text in lines:
                line: Line = json.loads(text)
                if line["type"] == "run":
                    self._loop.call_soon_threadsafe(self._inbox.put_nowait, line)
                elif self._current is not None:
                    self._current.stop = cast("Stop", line["why"])
                    self._loop.call_soon_threadsafe(self._cancel)
        self._hung_up = True
        # What runs must not go on: its job may have another worker by now.
        if self._current is not None or not self._inbox.empty():
            os._exit(0)
        self._loop.call_soon_threadsafe(self._inbox.put_nowait, None)

    def serve(self) -> None:
        """Run one handler after another, until the child hangs up while none runs.

        The loop runs meanwhile, with what the lifespan has begun on it.
        """
        while (line := self._loop.run_until_complete(self._inbox.get())) is not None:
            remote = RemoteAttempt(
                self._socket,
                cast("float", line["left_seconds"]),
                cast("float | None", line["extensible_seconds"]),
            )
            self._current = remote
            if self._hung_up:
                os._exit(0)
            ended = Context().run(self._run, line, remote)
            self._current = None
            if not remote.send({"type": "ended", "over": self._lifespan.ended_early, **ended}):
                os._exit(1)  # a handler has closed it, and the child would wait for ever
        self._lifespan.stop()
        if self._spans is not None:
            self._spans.close(setup.FLUSH_SECONDS)

    def _run(self, line: Line, remote: RemoteAttempt) -> Line:
        """Run one handler, in the context that was made for it; return how that ended."""
        row = Claimed._make(cast("list[Json]", line["row"]))
        if self._lifespan.ended_early:
            why = "the lifespan of the process that was to run it has ended early"
            return _ended(HandedBack("snoozed", why, SNOOZE_SECONDS))
        handler = self._handlers.get(row.kind)
        if handler is None:
            # The child has loaded the application before it was replaced.
            why = f"no handler for kind {row.kind!r} in the process that was to run it"
            return _ended(HandedBack("snoozed", clean(why), _OUTDATED_SECONDS))
        remote.max_attempts = handler.max_attempts
        log.running.set(row)
        if self._spans is not None:
            self._spans.resume(cast("dict[str, str]", line["trace"]))
        job = Job(row, remote)
        try:
            if handler.runs_on == "loop":
                value = self._run_coroutine(cast("Coroutines", handler.run)(job), remote)
            else:
                value = handler.run(job)
            end_if_copy(self._pid)
            return _ended(outcome.from_value(value))
        except BaseException as error:  # noqa: BLE001 - a handler may raise whatever it likes
            end_if_copy(self._pid, error)
            seconds = cast("float", line["timeout_seconds"])
            ending = outcome.from_error(error, remote.stop, seconds)
            late = seconds if remote.stop == "timeout" else None
            failure = outcome.failure(
                error,
                ending,
                attempts_left=row.attempt < (row.max_attempts or handler.max_attempts),
                timed_out_seconds=late,
            )
            if failure is not None:
                self._error_callback.report(job, failure)
            if failure is None or self._spans is None:
                return _ended(ending)
            return _ended(ending, dict[str, Json](self._spans.raised(failure)))

    def _run_coroutine(
        self, work: Coroutine[object, None, object], remote: RemoteAttempt
    ) -> object:
        """Run a coroutine whose kind has blocked the loop of its child, on a loop of its own.

        The loop stays for the next one: what a handler keeps, such as a pool of connections,
        belongs to the loop on which it was made.
        """
        self._task = self._loop.create_task(work)
        if remote.stop is not None:
            self._task.cancel()
        try:
            return self._loop.run_until_complete(self._task)
        finally:
            self._task = None

    def _cancel(self) -> None:
        """Cancel the coroutine that runs, if it is still the one that was stopped."""
        if self._task is not None and self._current is not None and self._current.stop:
            self._task.cancel()


def _ended(ending: Ending | None, raised: Json = None) -> Line:
    return {"ending": to_line(ending), "raised": raised}


def main() -> int:
    """Serve one child until it hangs up; return the exit code where that cannot begin."""
    die_with_parent()
    parser = argparse.ArgumentParser()
    for name in ("--app", "--pool", "--log-format", "--log-level"):
        parser.add_argument(name, required=True)
    parser.add_argument("--fd", type=int, required=True)
    arguments = parser.parse_args()
    log.configure(arguments.log_format, arguments.log_level)
    log.print_by_line()
    leave_signals_to_parent()
    to_child = socket.socket(fileno=arguments.fd)
    pid = os.getpid()
    try:
        app = load(arguments.app)
        end_if_copy(pid)
    except AppError as error:
        sys.stderr.write(f"fairlead: {error}\n")
        return 2
    log.mark_records()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        server = ProcessServer(app, to_child, setup.start(arguments.pool), loop)
    except LifespanFailed as error:
        report_failure(str(error))
        return LIFESPAN_FAILED
    # The child may have died meanwhile; then `listen` ends this process.
    with contextlib.suppress(OSError):
        to_child.sendall(b'{"type":"ready"}\n')
    threading.Thread(target=server.listen, daemon=True).start()
    server.serve()
    os._exit(0)  # whatever else the application has begun


if __name__ == "__main__":
    sys.exit(main())
