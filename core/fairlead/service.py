"""What the signals that end a service do: they set an event, and its loops end in order."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stopping(*, stop: threading.Event, again: threading.Event) -> Generator[None]:
    """Set `stop` at the first SIGTERM or SIGINT and `again` at the second, while inside.

    A terminal that is closed sets `stop` too, and no more however often that is told: its shell
    and the kernel both do. Where SIGHUP is ignored, as nohup has it, it stays ignored. Only
    the main thread may enter. The former handlers are back afterwards.
    """

    def asked(number: int, _frame: FrameType | None) -> None:
        (again if stop.is_set() and number != signal.SIGHUP else stop).set()

    heeded = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        heeded.append(signal.SIGHUP)
    former = {number: signal.signal(number, asked) for number in heeded}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
