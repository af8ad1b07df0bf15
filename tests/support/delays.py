"""How late a busy machine answers: what a bound on time allows beside the time itself."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

from psycopg import Connection
from psycopg.rows import TupleRow

_EVERY_SECONDS = 0.05


@contextmanager
def delays(connection: Connection[TupleRow]) -> Generator[Callable[[], float]]:
    """Ask for next to nothing again and again; yield what says the slowest answer in seconds.

    An answer counts from when it was to be asked for, so that a machine without time for who
    asks is late as well.
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
