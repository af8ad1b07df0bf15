"""Tell processes apart that were forked, and so have one command line. Linux only."""

import ctypes
import sys

_PR_SET_NAME = 15


def name_process(name: str) -> None:
    """Have `top` and `ps -o comm` show this name for this process: its first 15 bytes."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
