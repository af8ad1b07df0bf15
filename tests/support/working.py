"""A worker for tests that are about others: it claims and finishes whatever is queued."""

import threading
from collections.abc import Generator
from contextlib import contextmanager

from tests.conftest import Connect
from tests.support.race import claim, finish


@contextmanager
def working(
    connect: Connect, worker: int, *, pool: str = "default", pause_seconds: float = 0.005
) -> Generator[list[int]]:
    """Claim and finish whatever is queued until the end of the block; yield the ids."""
    done: list[int] = []
    stop = threading.Event()
    session = connect()

    def work() -> None:
        while not stop.wait(pause_seconds):
            done.extend(finish(session, claim(session, worker, pool=pool)))

    thread = threading.Thread(target=work, name="working")
    thread.start()
    try:
        yield done
    finally:
        stop.set()
        thread.join()
