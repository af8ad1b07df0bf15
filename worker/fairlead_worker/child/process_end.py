"""How a child ends when it is broken, or when handlers still run at its end."""

import os
import sys
import threading
from collections.abc import Callable
from time import monotonic, sleep

from fairlead.runtime import log
from fairlead_worker.child.slots import Slots

_FAULT_EXIT_CODE = 70
_LAST_SECONDS = 1.0
"""For how long handlers may go on after a fault: an ending is recorded in the attempt table,
and the parent stores it."""
_POLL_SECONDS = 0.005


def guarded(work: Callable[[], None], slots: Slots) -> None:
    """Run one of Fairlead's own threads; an error in it ends the process.

    What runs has a second to end before: a handler that breaks its process has not returned yet
    when a thread of ours notices, and is to be judged as one that returned.
    """
    try:
        work()
    except BaseException:  # noqa: BLE001 - whatever it is, the process ends with it
        until = monotonic() + _LAST_SECONDS
        while any(slots.running) and monotonic() < until:
            sleep(_POLL_SECONDS)
        log.get("worker.child").exception(
            "thread.failed", thread=threading.current_thread().name
        )
        sys.stderr.flush()
        os._exit(_FAULT_EXIT_CODE)


def exit_now() -> None:
    """Exit although handlers still run: nothing may wait for them."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
