"""Reconnect: yield one connection after another, and log why there is none."""

import select
import threading
from collections.abc import Callable, Iterator
from time import monotonic

import psycopg

from fairlead.db.connect import Connection
from fairlead.runtime import log
from fairlead.runtime.log_throttle import LogThrottle


def log_waiting(logger: log.Logger, throttle: LogThrottle) -> Callable[[str, float], None]:
    """Return what to call with why there is no connection: it logs the reason, throttled."""

    def write(why: str, rest_seconds: float) -> None:
        if throttle.due(why, monotonic()):
            again = round(rest_seconds, 3)
            logger.warning("database.waiting", reason=why, again_in_seconds=again)

    return write


def connections(
    connect: Callable[[], Connection | None], stop: threading.Event
) -> Iterator[Connection]:
    """Yield connections until stopped, each when the one before it is done with."""
    while not stop.is_set():
        connection = connect()
        if connection is not None:
            with connection:
                yield connection


def is_readable(connection: Connection) -> bool:
    """Return whether something has come on a connection, such as its end, or it is closed.

    It needs no descriptor, of which there may be none left.
    """
    poll = select.poll()
    try:
        poll.register(connection.fileno(), select.POLLIN)
    except psycopg.Error:
        return True
    return bool(poll.poll(0))
