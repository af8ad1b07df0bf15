"""How tests wait: for a condition, with a deadline, and never for a time that was guessed."""

from collections.abc import Callable
from time import monotonic, sleep
from typing import TypeVar

from psycopg import Connection
from psycopg.rows import TupleRow

T = TypeVar("T")

_FIRST_POLL_SECONDS = 0.001
_LAST_POLL_SECONDS = 0.05

_WAITS_FOR_A_LOCK = """
    SELECT true FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'
"""


def until(condition: Callable[[], T | None], *, what: str, seconds: float = 10.0) -> T:
    """Return the condition's first truthy value, or fail the test and say what did not happen.

    The condition is asked once more after the deadline, so a slow machine that just made it
    does not fail.
    """
    deadline = monotonic() + seconds
    pause = _FIRST_POLL_SECONDS
    while True:
        late = monotonic() >= deadline
        value = condition()
        if value:
            return value
        if late:
            raise AssertionError(f"{what} did not happen within {seconds:g} s")
        sleep(pause)
        pause = min(2 * pause, _LAST_POLL_SECONDS)


def notified(
    listener: Connection[TupleRow], notifier: Connection[TupleRow], channel: str
) -> list[str]:
    """Return the payloads notified on a channel until now, without waiting for more."""
    notifier.execute("SELECT pg_notify(%s, 'last')", [channel])
    payloads: list[str] = []
    for notice in listener.notifies(timeout=10):
        if (notice.channel, notice.payload) == (channel, "last"):
            return payloads
        payloads.append(notice.payload)
    raise AssertionError(f"the last notification on {channel} was not received")


def blocked(observer: Connection[TupleRow], pid: int, *, seconds: float = 10.0) -> None:
    """Wait until the backend waits for a lock; the observer must be another connection."""
    until(
        lambda: observer.execute(_WAITS_FOR_A_LOCK, [pid]).fetchone(),
        what=f"backend {pid} waiting for a lock",
        seconds=seconds,
    )
