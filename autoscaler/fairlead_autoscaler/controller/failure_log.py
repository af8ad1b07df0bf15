"""Log a recurring failure when it begins, and then once a minute.

A log that repeats itself every few seconds hides its other lines.
"""

from collections.abc import Callable, Mapping
from threading import Lock

from fairlead.db.connect import Unreachable
from fairlead.runtime import log
from fairlead.runtime.log_throttle import LogThrottle

REFRESH_SECONDS = 60.0
_NOTHING: Mapping[str, str] = {}


class FailureLog:
    """The current failures, each kind of its own; any thread may call it.

    Args:
        logger: Where they are logged, as warnings.
        clock: Seconds of any monotonic clock.
    """

    def __init__(self, logger: log.Logger, clock: Callable[[], float]) -> None:
        self._log = logger
        self._clock = clock
        self._lock = Lock()
        self._ongoing: dict[tuple[str, ...], LogThrottle] = {}

    def report(
        self, event: str, error: Exception | str, about: Mapping[str, str] = _NOTHING
    ) -> None:
        """Log a failure unless the same was logged within the last minute.

        Args:
            event: What failed.
            error: Why. Another kind of error is logged at once; so is another sentence of
                ours or of the database's. The cluster's sentences may contain a version or a
                time, so only their kind is compared.
            about: What it happened to: each has a minute of its own.
        """
        state = str(error) if isinstance(error, (Unreachable, str)) else type(error).__name__
        with self._lock:
            throttle = self._ongoing.setdefault(
                _key(event, about), LogThrottle(REFRESH_SECONDS)
            )
            due = throttle.due(state, self._clock())
        if due:
            self._log.warning(event, **about, reason=str(error))

    def resolve(self, event: str, about: Mapping[str, str] = _NOTHING) -> None:
        """Note that it succeeded: the next failure is logged at once."""
        with self._lock:
            self._ongoing.pop(_key(event, about), None)


def _key(event: str, about: Mapping[str, str]) -> tuple[str, ...]:
    return (event, *about.values())
