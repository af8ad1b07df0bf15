"""What SIGTERM and SIGINT do to a service: they set an event, and its loops end in order."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stopping(*, stop: threading.Event, again: threading.Event) -> Generator[None]:
    """Set `stop` at the first SIGTERM or SIGINT and `again` at the second, while inside.

    Only the main thread may enter. The former handlers are back afterwards.
    """

    def asked(_signal: int, _frame: FrameType | None) -> None:
        (again if stop.is_set() else stop).set()

    former = {
        number: signal.signal(number, asked) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
