"""One read for many browsers: an answer is kept for a moment, a slow one for longer."""

import threading
from collections.abc import Callable
from time import monotonic
from typing import Generic, TypeVar

T = TypeVar("T")

_FRESH_SECONDS = 1.0
_FRESH_SECONDS_MAX = 10.0
_PART = 25
"""Reading takes at most one part in so many of the time."""
_KEYS_MAX = 64


class Memo(Generic[T]):
    """Keeps the last answer for each key.

    Whoever asks while another reads the same waits for that read.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[object, tuple[float, T]] = {}
        self._readers: dict[object, threading.Lock] = {}
        self._forgotten = 0

    def forget(self) -> None:
        """Have everything read anew, what is being read now included."""
        with self._lock:
            self._forgotten += 1
            self._kept.clear()

    def get(self, key: object, read: Callable[[], T]) -> T:
        """Return what is kept for a key, or read it."""
        with self._lock:
            reader = self._readers.setdefault(key, threading.Lock())
        with reader:
            forgotten = self._forgotten
            until, kept = self._kept.get(key, (0.0, None))
            began = monotonic()
            if kept is not None and began < until:
                return kept
            found = read()
            took = monotonic() - began
            fresh = min(max(_FRESH_SECONDS, took * _PART), _FRESH_SECONDS_MAX)
            with self._lock:
                if forgotten == self._forgotten:
                    self._forget_the_oldest()
                    self._kept[key] = (monotonic() + fresh, found)
            return found

    def _forget_the_oldest(self) -> None:
        while len(self._kept) >= _KEYS_MAX:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._readers.pop(oldest, None)
