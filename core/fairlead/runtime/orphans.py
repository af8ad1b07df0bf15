"""Adopt processes whose parents have ended, and reap them. Linux only.

The kernel gives an orphan to its nearest ancestor that asked for it, or else to process 1.
"""

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager

_PR_SET_CHILD_SUBREAPER = 36
_waited_for: set[int] = set()
_guard = threading.Lock()
"""Held from before a process of `waited_for` starts until its id is known, and by who reaps."""


def adopt_orphans() -> bool:
    """Become the parent of this process's orphaned descendants; False: this system cannot."""
    if sys.platform != "linux":
        return False
    answer: int = ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return answer == 0


@contextmanager
def waited_for(
    start: Callable[[], subprocess.Popen[bytes]],
) -> Generator[subprocess.Popen[bytes]]:
    """Start a process that the caller waits for within the context, and nobody else reaps."""
    with _guard:
        process = start()
        _waited_for.add(process.pid)
    try:
        yield process
    finally:
        with _guard:
            _waited_for.discard(process.pid)


def reap_orphans(own: Collection[int]) -> None:
    """Reap dead children that nobody here waits for.

    Args:
        own: the ids of the processes that somebody waits for. As long as one of these is dead
            and has not been reaped, others may have to wait for the next call.
    """
    with _guard:
        while sys.platform == "linux":
            try:
                dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if dead is None or dead.si_pid in own or dead.si_pid in _waited_for:
                return
            os.waitpid(dead.si_pid, 0)
