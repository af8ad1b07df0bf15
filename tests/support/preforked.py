"""Children of a worker, forked from a process that has loaded their code once.

Each is a process of its own, and does what `python -m fairlead_worker.child.child_main` does
after its imports. Those are most of what a child costs, and many tests start one. The
interpreter's own variables, such as PYTHONHASHSEED, are those of the server.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from queue import SimpleQueue

from fairlead_cli.dev import process_table
from fairlead_worker.child import child_main
from tests.support import tree

_MESSAGE_BYTES_MAX = 256 * 1024
_DESCRIPTORS_MAX = 8


class Forked:
    """A forked process."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None
        self._ended = threading.Event()

    def has_ended(self, code: int) -> None:
        """Note its exit code; the number of the signal that ended it is less than zero."""
        self._code = code
        self._ended.set()

    def is_alive(self) -> bool:
        """Return whether it lives, as the kernel knows."""
        return self._code is None and process_table.is_alive(self.pid)

    def wait(self, seconds: float) -> int:
        """Wait for its end, and return its exit code.

        Raises:
            TimeoutError: it lives.
        """
        self._ended.wait(seconds)
        if self._code is None:
            raise TimeoutError(f"process {self.pid} did not end within {seconds:g} s")
        return self._code


class ForkServer:
    """The process that forks. Whatever it has forked ends with it, and it with this process."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.preforked", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                process_group=0,
                cwd=tree.ROOT,
                env={**os.environ, "PYTHONPATH": tree.SOURCES},
            )
        self._begun: SimpleQueue[Forked | None] = SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def fork(
        self,
        arguments: Sequence[str],
        descriptors: Sequence[int],
        *,
        stderr: int,
        env: Mapping[str, str],
    ) -> Forked:
        """Fork a child that leads a process group; one thread calls this.

        Args:
            arguments: its command line, in which `{0}` is the number that the first of the
                descriptors has in it, and so on.
            descriptors: what it inherits.
            stderr: the descriptor that becomes its standard error.
            env: all of its environment.
        """
        request = json.dumps([[*arguments], {**env}]).encode()
        socket.send_fds(self._socket, [request], [stderr, *descriptors])
        forked = self._begun.get()
        if forked is None:
            raise RuntimeError("the process that forks children has ended")
        return forked

    def close(self) -> None:
        """End it."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.join()
        self._socket.close()
        self._process.wait()

    def _read(self) -> None:
        living: dict[int, Forked] = {}
        while message := self._socket.recv(_MESSAGE_BYTES_MAX):
            pid, status = json.loads(message)
            if status is None:
                living[pid] = Forked(pid)
                self._begun.put(living[pid])
            else:
                living.pop(pid).has_ended(os.waitstatus_to_exitcode(status))
        for each in living.values():
            each.has_ended(-signal.SIGKILL)  # as the kernel ends them when the server dies
        self._begun.put(None)


@cache
def fork_server() -> ForkServer:
    """Return this process's, which the first call starts."""
    started = ForkServer()
    atexit.register(started.close)
    return started


def serve(control: socket.socket) -> int:
    """Fork until the other end is closed; return the exit code, in a forked process its own."""
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writing)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    while True:
        ready, _, _ = select.select([control.fileno(), reading], [], [])
        if reading in ready:
            os.read(reading, _MESSAGE_BYTES_MAX)
            for ended in reap():
                control.send(json.dumps(ended).encode())
        if control.fileno() not in ready:
            continue
        request, descriptors, _, _ = socket.recv_fds(
            control, _MESSAGE_BYTES_MAX, _DESCRIPTORS_MAX
        )
        if not request:
            return 0
        if (pid := os.fork()) == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(reading)
            os.close(writing)
            control.close()
            arguments, env = json.loads(request)
            return be_child(arguments, env, descriptors)
        os.setpgid(pid, pid)
        for each in descriptors:
            os.close(each)
        control.send(json.dumps((pid, None)).encode())


def reap() -> Iterator[tuple[int, int]]:
    """Yield the forked processes that have ended, with their statuses."""
    try:
        while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
            yield ended
    except ChildProcessError:
        return


def be_child(arguments: list[str], env: dict[str, str], descriptors: list[int]) -> int:
    """Run a child of a worker in this process; return its exit code."""
    stderr, *rest = descriptors
    os.setpgid(0, 0)
    os.dup2(stderr, sys.stderr.fileno())
    os.close(stderr)
    os.environ.clear()
    os.environ.update(env)
    folders = env.get("PYTHONPATH", "").split(os.pathsep)
    sys.path += [each for each in folders if each not in sys.path]
    return child_main.main([each.format(*rest) for each in arguments])


if __name__ == "__main__":
    sys.exit(serve(socket.socket(fileno=int(sys.argv[1]))))
