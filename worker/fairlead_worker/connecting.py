"""How a worker's threads come by a connection: patiently, and saying why they wait."""

import threading
from collections.abc import Callable, Iterator
from time import monotonic

from structlog.typing import FilteringBoundLogger

from fairlead.reminder import Reminder
from fairlead.store import Connection, connect_patiently


def tell_waiting(
    logger: FilteringBoundLogger, reminder: Reminder
) -> Callable[[str, float], None]:
    """Return what `connect_patiently` is to call: it says why, when that is due."""

    def tell(why: str, rest_seconds: float) -> None:
        if reminder.due(why, monotonic()):
            again = round(rest_seconds, 3)
            logger.warning("database.waiting", why=why, again_in_seconds=again)

    return tell


def sessions(
    open_one: Callable[[], Connection],
    stop: threading.Event,
    waiting: Callable[[str, float], None],
) -> Iterator[Connection]:
    """Yield connections until told to stop, each when the one before it is done with."""
    while not stop.is_set():
        connection = connect_patiently(open_one, stop, waiting)
        if connection is not None:
            with connection:
                yield connection
