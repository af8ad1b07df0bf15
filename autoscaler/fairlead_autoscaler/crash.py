"""A thread that ends by an error ends the process, in order; without it nobody would notice.

A watch without its thread shows a cluster in which nothing happens, and a candidate without its
own never stands for the Lease again: both look like a quiet day. Nobody foresaw the error, so
nobody knows what can still be relied on; whoever keeps the process up starts it anew.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from fairlead import log

_log = log.get("autoscaler")


class Crashed(Exception):
    """A thread ended by an error that nobody foresaw; the log has it."""


@contextmanager
def crashing(end: Callable[[], None]) -> Generator[None]:
    """Heed errors that end a thread of this process, whichever it is, while inside.

    Only one may be entered at a time. What was there before counts again afterwards.

    Args:
        end: Called in the thread that has failed, once its error is logged: it is to have the
            block end. Further threads that fail call it again.

    Raises:
        Crashed: at the end of the block, if a thread has failed; its message is the thread's
            name. An error of the block itself goes before.
    """
    failed: list[str] = []

    def heed(error: threading.ExceptHookArgs) -> None:
        name = "unknown" if error.thread is None else error.thread.name
        failed.append(name)
        try:
            _log.error("thread.failed", thread=name, exc_info=error.exc_value)
        finally:
            end()

    former = threading.excepthook
    threading.excepthook = heed
    try:
        yield
    finally:
        threading.excepthook = former
    if failed:
        raise Crashed(failed[0])
