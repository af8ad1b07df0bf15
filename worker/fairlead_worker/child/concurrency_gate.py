"""Bound how many attempts of one kind run at once: `@tasks.handler(…, concurrency=2)`.

An attempt beyond the bound waits in the slot that it was given. It cannot go back to the queue,
where the same child would claim it again at once.
"""

import threading
from collections import deque

from fairlead_worker.attempts.attempt import Attempt


class ConcurrencyGates:
    """One gate per kind that has a bound. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside: dict[str, int] = {}
        self._waiting: dict[str, deque[Attempt]] = {}

    def enter(self, attempt: Attempt) -> bool:
        """Let an attempt in and return True, or have it wait for its turn."""
        handler = attempt.handler
        assert handler.concurrency is not None
        with self._lock:
            inside = self._inside.get(handler.kind, 0)
            if inside < handler.concurrency:
                self._inside[handler.kind] = inside + 1
                return True
            self._waiting.setdefault(handler.kind, deque()).append(attempt)
            return False

    def leave(self, attempt: Attempt) -> Attempt | None:
        """Let an attempt out; return the next one in, which the caller starts."""
        kind = attempt.handler.kind
        with self._lock:
            waiting = self._waiting.get(kind)
            if waiting:
                return waiting.popleft()
            self._inside[kind] -= 1
            return None

    def waiting(self) -> tuple[Attempt, ...]:
        """Return whatever waits."""
        with self._lock:
            return tuple(each for waiting in self._waiting.values() for each in waiting)

    def withdraw(self, attempt: Attempt) -> bool:
        """Take one attempt back; return whether it waited."""
        with self._lock:
            waiting = self._waiting.get(attempt.handler.kind, ())
            if attempt not in waiting:
                return False
            self._waiting[attempt.handler.kind].remove(attempt)
            return True

    def take_waiting(self) -> list[Attempt]:
        """Take back whatever waits."""
        with self._lock:
            taken = [attempt for waiting in self._waiting.values() for attempt in waiting]
            self._waiting.clear()
        return taken
