"""What fails at step after step is said when it begins, and then once a minute.

A log that says the same every few seconds hides what else it says.
"""

from collections.abc import Callable, Mapping
from threading import Lock

from structlog.typing import FilteringBoundLogger

from fairlead.reminder import Reminder
from fairlead.store import Unreachable

AGAIN_SECONDS = 60.0
_NOTHING: Mapping[str, str] = {}


class Troubles:
    """What goes wrong now, each kind of it by itself; any thread may call it.

    Args:
        logger: Where it is said, as a warning.
        clock: Seconds of any clock that only goes on.
    """

    def __init__(self, logger: FilteringBoundLogger, clock: Callable[[], float]) -> None:
        self._log = logger
        self._clock = clock
        self._lock = Lock()
        self._lasting: dict[tuple[str, ...], Reminder] = {}

    def say(
        self, event: str, error: Exception | str, about: Mapping[str, str] = _NOTHING
    ) -> None:
        """Say that something failed, unless the same was said within the last minute.

        Args:
            event: What failed.
            error: Why. Another kind of error is said at once; so is another sentence of ours
                or of the database's. One of the cluster's may have a version or a time in it,
                and is never the same.
            about: What it happened to: each has a minute of its own.
        """
        state = str(error) if isinstance(error, (Unreachable, str)) else type(error).__name__
        with self._lock:
            lasting = self._lasting.setdefault(_key(event, about), Reminder(AGAIN_SECONDS))
            due = lasting.due(state, self._clock())
        if due:
            self._log.warning(event, **about, reason=str(error))

    def over(self, event: str, about: Mapping[str, str] = _NOTHING) -> None:
        """Take note that it succeeded: when it fails again, that is news."""
        with self._lock:
            self._lasting.pop(_key(event, about), None)


def _key(event: str, about: Mapping[str, str]) -> tuple[str, ...]:
    return (event, *about.values())
