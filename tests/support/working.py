"""A worker for tests that are about others: it claims and finishes whatever is queued."""

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from tests.conftest import Connect
from tests.support.race import claim, finish


@contextmanager
def working(
    connect: Connect, worker: int, *, pool: str = "default", pause_seconds: float = 0.005
) -> Generator[list[int]]:
    """Claim and finish whatever is queued until the end of the block; yield the ids.

    Each job ran for as long as it was held, as a worker says it: a leader that saw it held for
    longer, when the machine stood still, would take the rest off what comes next.
    """
    done: list[int] = []
    stop = threading.Event()
    session = connect()

    def work() -> None:
        while not stop.wait(pause_seconds):
            begun = time.monotonic()
            leases = claim(session, worker, pool=pool)
            done.extend(finish(session, leases, run_us=int((time.monotonic() - begun) * 1e6)))

    thread = threading.Thread(target=work, name="working")
    thread.start()
    try:
        yield done
    finally:
        stop.set()
        thread.join()
