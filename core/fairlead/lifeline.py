"""Have a process end when the one that started it does, and not before because of a signal.

A child sees that its parent is gone when their socket closes. But a handler that holds the
interpreter's lock, in a regular expression or a big power, keeps it from looking. On Linux the
kernel kills it then; elsewhere it ends as soon as the lock is free.
"""

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Have this process killed when the thread that started it ends. A repeat is harmless."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def leave_signals_to_parent() -> None:
    """Heed no SIGTERM and no SIGINT: what stops a worker is its parent's to hear.

    They are not ignored, since that would be inherited by what handlers start.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: None)
