"""Run a step again and again until asked to stop.

Signals set an event; loops do the work. A step returns how long to rest, and a wake only
shortens the rest: polling is the truth.
"""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import timedelta
from types import FrameType

Step = Callable[[], timedelta]


def run(step: Step, stop: threading.Event) -> None:
    """Repeat the step until asked to stop, resting as long as it says."""
    while not stop.is_set():
        stop.wait(step().total_seconds())


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
