"""Let no process outlive the one that started it, where the system can see to that.

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
