"""The child processes that run handlers: start one, speak with it, watch it, end it.

A child leads a process group of its own, which shields it from a terminal's Ctrl-C and lets the
parent end whatever the child has started. Its end of the control socket closes when it dies,
however it dies, and the parent's end closes when the parent dies, so that neither outlives the
other's death unnoticed.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from time import monotonic

from fairlead import log
from fairlead_worker import wire
from fairlead_worker.ledger import Entry, Ledger, new_ledger
from fairlead_worker.ledger_view import Cause, Died
from fairlead_worker.orders import Orders

_READ_BYTES = 1 << 18
_LINE_BYTES_MAX = 1 << 24
_DYING_SECONDS = 2.0


class Child:
    """One child process.

    Args:
        orders: the worker's settings.
        alone: whether it runs what it is given, one at a time, instead of claiming.

    Raises:
        OSError: the machine has no room for another process.
    """

    def __init__(self, orders: Orders, *, alone: bool = False) -> None:
        self.ready = False  # it has loaded the application and reached the database
        self.goes = False  # it may claim
        self.rest: int | None = None  # which one it was told and has not come to
        self.idle = False
        self.cause: Cause | None = None  # why the parent ends it
        self.kill_at: float | None = None
        slots = 1 if alone else orders.concurrency
        descriptor = new_ledger(slots)
        ours, theirs = socket.socketpair()
        try:
            self._ledger = Ledger(descriptor, slots)
            self._process = subprocess.Popen(
                _command(orders, theirs.fileno(), descriptor, alone=alone),
                pass_fds=[theirs.fileno(), descriptor],
                process_group=0,
                stdin=subprocess.DEVNULL,
            )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
            os.close(descriptor)
        ours.settimeout(0)
        self._socket = ours
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
    def unsent(self) -> bool:
        """Whether messages wait until the socket takes them."""
        return bool(self._outbox)

    def running(self) -> tuple[Entry, ...]:
        """Return the attempts that run in it, or ran when it died."""
        return self._ledger.read()

    def say(self, message: wire.ToChild) -> None:
        """Send a message, now or as soon as the child reads; to a dead child, nothing."""
        self._outbox.append(wire.to_child(message))
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

    def heard(self) -> Iterator[wire.ToParent]:
        """Yield the messages that have arrived."""
        self._receive()
        while (end := self._inbox.find(b"\n")) >= 0:
            line = bytes(self._inbox[:end])
            del self._inbox[: end + 1]
            try:
                yield wire.from_child(line)
            except wire.Garbled:
                self._log.error("child.garbled", line=line[:200].decode(errors="replace"))
        if len(self._inbox) > _LINE_BYTES_MAX:
            self._log.error("child.garbled", length=len(self._inbox))
            self._inbox.clear()

    def _receive(self) -> None:
        try:
            while data := self._socket.recv(_READ_BYTES):
                self._inbox += data
        except BlockingIOError:
            return
        except OSError as error:
            self._log.debug("child.hung_up", why=error.strerror)
        # It is dying, or deaf, and cannot be told anything: let it be dead soon.
        self.hung_up = True
        self._kill_by(monotonic() + _DYING_SECONDS)

    def end(self, cause: Cause, *, within_seconds: float = 0.0) -> None:
        """Have it dead within a moment, for this reason; a former reason and moment stay."""
        self.cause = self.cause or cause
        self._kill_by(monotonic() + within_seconds)
        self.kill_if_due(monotonic())

    def _kill_by(self, moment: float) -> None:
        self.kill_at = moment if self.kill_at is None else min(self.kill_at, moment)

    def kill_if_due(self, now: float) -> None:
        """Kill its whole group when its moment is over."""
        if self.kill_at is not None and now >= self.kill_at:
            self._kill_group()

    def exit_code(self) -> int | None:
        """Tell whether it is dead, and see to it that nothing of its group lives on."""
        if self._process.poll() is None:
            return None
        self._kill_group()
        return self._process.returncode

    def how_it_ended(self) -> Cause:
        """Return the reason the parent had for ending it, else that it died."""
        code = self._process.returncode
        return self.cause or Died(code if code is not None else 0)

    def close(self) -> None:
        """Let go of the socket. A repeat does nothing."""
        self._socket.close()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


def _command(orders: Orders, control: int, ledger: int, *, alone: bool) -> list[str]:
    command = [sys.executable, "-m", "fairlead_worker.child"]
    command += ["--app", orders.app, "--pool", orders.pool]
    command += ["--concurrency", str(1 if alone else orders.concurrency)]
    command += ["--control-fd", str(control), "--ledger-fd", str(ledger)]
    command += ["--log-format", orders.log_format, "--log-level", orders.log_level]
    if orders.metrics_wait_bounds:
        command += ["--wait-bounds", ",".join(map(str, orders.metrics_wait_bounds))]
    return [*command, "--alone"] if alone else command
