"""Start children: by a fork of the template where there is one, or else by a new interpreter.

The template (`child.template`) has loaded what every child loads, so that a child that it forks
has only the application left to load. It runs on Linux, where the parent adopts what it forks
(`fairlead.runtime.orphans`). It may die at any time: the next child starts without it, and
another template is started.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from math import inf
from time import monotonic
from typing import Protocol, TypeAlias

from fairlead.runtime import log
from fairlead.runtime.orphans import adopt_orphans
from fairlead_worker.ipc import fork_request

_TEMPLATE, _CHILD = "fairlead_worker.child.template", "fairlead_worker.child.child_main"
"""The modules that are run."""
_LOAD_SECONDS_MAX = 30.0
"""After so long children start without it."""
_ANSWER_SECONDS_MAX = 1.0
_RESTART_SECONDS = 10.0


class AnswerLost(OSError):
    """The template has not said whether it has forked: a child may have the descriptors."""


class ChildProcess(Protocol):
    """A process that this one is the parent of."""

    @property
    def pid(self) -> int:
        """Its id, which is its group's as well."""
        ...

    def poll(self) -> int | None:
        """Return its exit code, and reap it; None: it lives."""
        ...


StartChild: TypeAlias = Callable[[Sequence[str], int, int], ChildProcess]
"""Starts a child with these arguments, control socket and attempt table."""


class AdoptedProcess:
    """A process that the template has forked, and that this one has adopted.

    Args:
        pid: its id.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return its exit code, and reap it; None: it lives."""
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code


class ChildTemplate:
    """The template of one worker, while there is one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._is_ready = False
        self._started_at = self._start_at = 0.0
        self._log = log.get("worker.child_template")

    @property
    def pids(self) -> tuple[int, ...]:
        """Its process id, if it has not been reaped."""
        return () if self._process is None else (self._process.pid,)

    def advance(self, now: float) -> None:
        """Start it where there is none, and note that it has died or does not load."""
        if self._process is None:
            if now >= self._start_at:
                self._start(now)
        elif self._process.poll() is not None:
            self._end("it has died")
        elif self.is_loading and now > self._started_at + _LOAD_SECONDS_MAX:
            self._end("it has not loaded")

    @property
    def is_loading(self) -> bool:
        """Whether it will fork in a moment."""
        return self._process is not None and not self._is_ready

    def waits_on(self) -> tuple[int, ...]:
        """Return the socket on which it says that it is ready, until it has."""
        return () if self._is_ready or self._socket is None else (self._socket.fileno(),)

    def read(self) -> None:
        """Note that it is ready, or that it has ended before."""
        if self._socket is not None and self._receive(self._socket) == fork_request.READY:
            self._is_ready = True
        else:
            self._end("it has ended before it was ready")

    def start_child(self, arguments: Sequence[str], control: int, table: int) -> ChildProcess:
        """Start a child with these arguments and descriptors, in a process group of its own.

        Raises:
            AnswerLost: a child may have been started. The caller closes its ends, at which that
                child ends, and tries again with other ones, without the template.
            OSError: the machine has no room for another process.
        """
        if self._is_ready:
            return AdoptedProcess(self._fork(arguments, control, table))
        own = fork_request.descriptor_arguments(control, table)
        return subprocess.Popen(
            [sys.executable, "-m", _CHILD, *arguments, *own],
            pass_fds=[control, table],
            process_group=0,
            stdin=subprocess.DEVNULL,
        )

    def close(self) -> None:
        """End it. A repeat does nothing."""
        self._end(None)

    def _start(self, now: float) -> None:
        if not adopt_orphans():
            self._start_at = inf
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._start_at, self._started_at = now + _RESTART_SECONDS, now
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", _TEMPLATE, str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    process_group=0,
                    stdin=subprocess.DEVNULL,
                )
            except OSError as error:
                ours.close()
                self._log.error("template.not_started", reason=str(error))
                return
        ours.settimeout(_ANSWER_SECONDS_MAX)
        self._socket = ours
        self._log.debug("template.started", pid=self._process.pid)

    def _fork(self, arguments: Sequence[str], control: int, table: int) -> int:
        """Return the id of a new child.

        Raises:
            AnswerLost: the template was of no more use, and has ended.
            OSError: the machine has no room for another process.
        """
        assert self._socket is not None
        request = json.dumps([*arguments]).encode()
        try:
            socket.send_fds(self._socket, [request], [control, table])
            answer = self._receive(self._socket)
        except OSError:
            answer = b""
        if not answer:
            self._end("it did not answer")
            raise AnswerLost("the template did not answer")
        pid = int(answer)
        if pid < 0:
            raise OSError("no process could be forked")
        return pid

    def _receive(self, own: socket.socket) -> bytes:
        try:
            return own.recv(fork_request.BYTES_MAX)
        except OSError:
            return b""

    def _end(self, why: str | None) -> None:
        process, own = self._process, self._socket
        self._process = self._socket = None
        self._is_ready = False
        if process is not None:
            if why is not None:
                self._log.warning("template.ended", pid=process.pid, reason=why)
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            process.wait()
            self._start_at = max(self._start_at, monotonic() + _RESTART_SECONDS)
        if own is not None:
            own.close()
