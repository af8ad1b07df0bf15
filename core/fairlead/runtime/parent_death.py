"""End a child process when its parent dies, and not before because of a signal.

A child notices that its parent is gone when their socket closes. But a handler that holds the
interpreter's lock, in a regular expression or a large power, prevents that. On Linux the kernel
kills the child then; elsewhere it ends as soon as the lock is free.
"""

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Let the kernel kill this process when the thread that started it ends. Repeatable."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def leave_signals_to_parent() -> None:
    """Do nothing on SIGTERM and SIGINT: the parent handles them and stops its children.

    They are not ignored, since processes that handlers start would inherit that.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: None)
