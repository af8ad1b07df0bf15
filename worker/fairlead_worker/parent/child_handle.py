"""The parent's handle on one child process: start it, exchange messages, kill and reap it.

A child leads a process group of its own, which shields it from a terminal's Ctrl-C and lets the
parent end whatever the child has started. The child's end of the control socket closes when it
dies, however it dies, and the parent's end closes when the parent dies, so each notices the
other's death.
"""

import contextlib
import os
import signal
import socket
from collections import deque
from collections.abc import Iterator, Sequence
from time import monotonic

from fairlead.runtime import log
from fairlead_worker.config import WorkerConfig
from fairlead_worker.ipc import messages
from fairlead_worker.ipc.attempt_table import (
    AttemptEntry,
    AttemptTable,
    UnstoredSuccess,
    new_attempt_table,
    stand_ins_of,
)
from fairlead_worker.ipc.interruptions import Cause, Died
from fairlead_worker.parent.child_template import AnswerLost, ChildProcess, StartChild

_READ_BYTES = 1 << 18
_MESSAGE_BYTES_MAX = 1 << 24
_HUNG_UP_SECONDS = 2.0


class ChildHandle:
    """One child process, seen from the parent; `child.child_main.Child` is the process itself.

    Args:
        config: the worker's settings.
        start: starts its process.
        quarantine: whether it runs the suspect jobs that it is given instead of claiming.

    Raises:
        OSError: the machine has no room for another process.
    """

    def __init__(
        self, config: WorkerConfig, start: StartChild, *, quarantine: bool = False
    ) -> None:
        self.ready = False  # it has loaded the application and reached the database
        self.claiming = False  # it may claim
        self.may_connect = False  # it was told so
        self.connected = False  # it has both of its connections, as far as is known
        self.pause_number: int | None = None  # the pause it has not confirmed yet
        self.idle = False
        self.slotless = 0  # attempts that hold no slot
        self.cause: Cause | None = None  # why the parent ends it
        self.kill_at: float | None = None
        slots = 1 if quarantine else config.concurrency
        arguments = _arguments(config, slots, quarantine=quarantine)
        try:
            started = _start_process(start, arguments, slots)
        except AnswerLost:  # whatever has been started ends, and has no part of this child's
            started = _start_process(start, arguments, slots)
        self._process, self._socket, self._table = started
        self._inbox = bytearray()
        self._outbox: deque[bytes] = deque()
        self.hung_up = False
        self._log = log.get("worker.child").bind(pid=self.pid)

    @property
    def pid(self) -> int:
        """Its process id, which is its group's as well."""
        return self._process.pid

    def fileno(self) -> int:
        """Return the control socket, to wait for messages."""
        return self._socket.fileno()

    @property
    def has_unsent(self) -> bool:
        """Whether messages wait until the socket takes them."""
        return bool(self._outbox)

    @property
    def may_hold(self) -> bool:
        """Whether it may have claimed something that it still holds."""
        return not self.idle and (self.claiming or self.pause_number is not None)

    def running(self) -> tuple[AttemptEntry, ...]:
        """Return the attempts that run in it, or ran when it died."""
        return self._table.read()

    def unstored(self) -> tuple[tuple[AttemptEntry, ...], tuple[UnstoredSuccess, ...]]:
        """Return what it had not stored when it died: what ran, and plain successes."""
        return self._table.read_dead()

    def send(self, message: messages.ToChild) -> None:
        """Send a message, now or as soon as the child reads; to a dead child, nothing."""
        self._outbox.append(messages.to_child(message))
        self.flush()

    def flush(self) -> None:
        """Send what the socket takes."""
        while self._outbox:
            try:
                sent = self._socket.send(self._outbox[0])
            except BlockingIOError:
                return
            except OSError:  # it has hung up; its death is seen elsewhere
                self._outbox.clear()
                return
            line = self._outbox.popleft()
            if sent < len(line):
                self._outbox.appendleft(line[sent:])

    def received(self) -> Iterator[messages.ToParent]:
        """Yield the messages that have arrived."""
        self._read_socket()
        while (end := self._inbox.find(b"\n")) >= 0:
            line = bytes(self._inbox[:end])
            del self._inbox[: end + 1]
            try:
                yield messages.from_child(line)
            except messages.MalformedMessage:
                self._log.error("child.malformed_message", length=len(line))
        if len(self._inbox) > _MESSAGE_BYTES_MAX:
            self._log.error("child.malformed_message", length=len(self._inbox))
            self._inbox.clear()

    def _read_socket(self) -> None:
        try:
            while data := self._socket.recv(_READ_BYTES):
                self._inbox += data
        except BlockingIOError:
            return
        except OSError as error:
            self._log.debug("child.hung_up", reason=error.strerror)
        # It is dying, or no longer reads: kill it soon.
        self.hung_up = True
        self._kill_by(monotonic() + _HUNG_UP_SECONDS)

    def end(self, cause: Cause, *, within_seconds: float = 0.0) -> None:
        """Kill it after so long, for this reason; an earlier reason or moment stays."""
        self.cause = self.cause or cause
        self._kill_by(monotonic() + within_seconds)
        self.kill_if_due(monotonic())

    def _kill_by(self, kill_at: float) -> None:
        self.kill_at = kill_at if self.kill_at is None else min(self.kill_at, kill_at)

    def kill_if_due(self, now: float) -> None:
        """Kill its whole group when its moment has come."""
        if self.kill_at is not None and now >= self.kill_at:
            self._kill_group()

    def reap(self) -> int | None:
        """Return a dead child's exit code and kill the rest of its group; None: it lives."""
        code = self._process.poll()
        if code is not None:
            self._kill_group()
        return code

    def cause_of_end(self) -> Cause:
        """Return the parent's reason for ending it, or else that it died."""
        return self.cause or Died(self._process.poll() or 0)

    def close(self) -> None:
        """Close the socket. A repeat does nothing."""
        self._socket.close()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


def _start_process(
    start: StartChild, arguments: Sequence[str], slots: int
) -> tuple[ChildProcess, socket.socket, AttemptTable]:
    """Start a process with a control socket and an attempt table that no other one has.

    Raises:
        AnswerLost: one may have been started. It ends, for nobody has the socket's other end.
        OSError: the machine has no room for another process.
    """
    descriptor = new_attempt_table(slots)
    ours, theirs = socket.socketpair()
    try:
        table = AttemptTable(descriptor, slots)
        process = start(arguments, theirs.fileno(), descriptor)
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()
        os.close(descriptor)
    ours.settimeout(0)
    return process, ours, table


def _arguments(config: WorkerConfig, slots: int, *, quarantine: bool) -> list[str]:
    arguments = ["--app", config.app, "--pool", config.pool, "--concurrency", str(slots)]
    arguments += ["--stand-ins", str(stand_ins_of(config.concurrency))]
    arguments += ["--log-format", config.log_format, "--log-level", config.log_level]
    if config.metrics_wait_bounds:
        arguments += ["--wait-bounds", ",".join(map(str, config.metrics_wait_bounds))]
    if quarantine:
        return [*arguments, "--quarantine"]
    return arguments if config.jobs is None else [*arguments, "--jobs", str(config.jobs)]
