"""Something that goes on beside a test, and ends with it."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def beside(run: Callable[[threading.Event], None], name: str) -> Generator[None]:
    """Run a function in a thread until the end of the block, and wait for its end.

    Args:
        run: Returns soon after the event that it is given is set.
        name: The thread's.
    """
    stop = threading.Event()
    thread = threading.Thread(target=run, args=(stop,), name=name)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
