"""Adopt processes whose parents have ended, and reap them. Linux only.

The kernel gives an orphan to its nearest ancestor that asked for it, or else to process 1.
"""

import ctypes
import os
import sys
from collections.abc import Collection

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> bool:
    """Become the parent of this process's orphaned descendants; False: this system cannot."""
    if sys.platform != "linux":
        return False
    answer: int = ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return answer == 0


def reap_orphans(own: Collection[int]) -> None:
    """Reap dead children that nobody here waits for.

    Args:
        own: the ids of the processes that somebody waits for. As long as one of these is dead
            and has not been reaped, others may have to wait for the next call.
    """
    while sys.platform == "linux":
        try:
            dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if dead is None or dead.si_pid in own:
            return
        os.waitpid(dead.si_pid, 0)
