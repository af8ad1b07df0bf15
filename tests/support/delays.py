"""How late a busy machine answers: the slack of a time bound."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

from psycopg import Connection
from psycopg.rows import TupleRow

_EVERY_SECONDS = 0.05


@contextmanager
def delays(connection: Connection[TupleRow]) -> Generator[Callable[[], float]]:
    """Send a trivial query again and again; yield a function for the slowest answer in seconds.

    An answer counts from when its query was due, so that a machine that delays the client
    counts as late, too.
    """
    stop, slowest = Event(), 0.0

    def ask() -> None:
        nonlocal slowest
        while not stop.is_set():
            due = monotonic() + _EVERY_SECONDS
            stop.wait(_EVERY_SECONDS)
            connection.execute("SELECT")
            slowest = max(slowest, monotonic() - due)

    thread = Thread(target=ask, name="delays")
    thread.start()
    try:
        yield lambda: slowest
    finally:
        stop.set()
        thread.join()
