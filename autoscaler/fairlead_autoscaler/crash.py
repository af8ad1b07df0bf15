"""An unexpected error that ends a thread ends the process, in order.

Otherwise nothing would show it: a watch without its thread shows a cluster in which nothing
happens, and a candidate without its lease thread never stands for the Lease again. After an
unexpected error the process's state cannot be relied on; the Deployment restarts it.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from fairlead.runtime import log

_log = log.get("autoscaler")


class Crashed(Exception):
    """A thread ended by an unexpected error; the log has it."""


@contextmanager
def ending_on_thread_failure(end: Callable[[], None]) -> Generator[None]:
    """Catch errors that end any thread of this process, while inside.

    Only one may be entered at a time. The former hook is restored afterwards.

    Args:
        end: Called in the failed thread, once its error is logged: it is to have the block
            end. Further threads that fail call it again.

    Raises:
        Crashed: at the end of the block, if a thread has failed; its message is the thread's
            name. An error of the block itself takes precedence.
    """
    failed: list[str] = []

    def on_failure(error: threading.ExceptHookArgs) -> None:
        name = "unknown" if error.thread is None else error.thread.name
        failed.append(name)
        try:
            _log.error("thread.failed", thread=name, exc_info=error.exc_value)
        finally:
            end()

    former = threading.excepthook
    threading.excepthook = on_failure
    try:
        yield
    finally:
        threading.excepthook = former
    if failed:
        raise Crashed(failed[0])
