"""A service that is asked to stop while it starts exits with 0, as it does later.

To load what it needs takes a service up to a second. A signal would end it meanwhile as one
that failed (143), and in a container, where it is process 1, would not reach it at all: then it
is killed when its grace is over. So each service's `main` loads the rest of it inside this.
"""

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


@contextmanager
def exiting_when_asked() -> Generator[None]:
    """Exit at once with 0 at SIGTERM or SIGINT, while inside.

    Inside, `fairlead.service.stopping` handles them once there is anything to end in order.
    Only the main thread may enter. The former handlers are restored afterwards.
    """
    handled = (signal.SIGTERM, signal.SIGINT)
    former = {number: signal.signal(number, _exit) for number in handled}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _exit(_number: int, _frame: FrameType | None) -> NoReturn:
    os._exit(0)  # nothing has begun, and an exception could be caught by what is being imported
