"""Bound how many attempts of one kind run at once: `@tasks.handler(…, concurrency=2)`.

An attempt beyond the bound waits without a slot. A kind of which as many wait as may run is
full: more of it would wait here while other workers have room for it, so claims pass it over.
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
            if not waiting:
                self._inside[kind] -= 1
                return None
            following = waiting.popleft()
            if not waiting:
                del self._waiting[kind]
            return following

    def waiting(self) -> tuple[Attempt, ...]:
        """Return whatever waits."""
        with self._lock:
            return tuple(each for waiting in self._waiting.values() for each in waiting)

    @property
    def waiting_count(self) -> int:
        """How many wait."""
        if not self._waiting:
            return 0
        with self._lock:
            return sum(map(len, self._waiting.values()))

    def full_kinds(self) -> tuple[str, ...]:
        """Return the kinds of which as many wait as may run."""
        if not self._waiting:
            return ()
        with self._lock:
            return tuple(
                kind
                for kind, waiting in self._waiting.items()
                if len(waiting) >= (waiting[0].handler.concurrency or 0)
            )

    def withdraw(self, attempt: Attempt) -> bool:
        """Take one attempt back; return whether it waited."""
        kind = attempt.handler.kind
        with self._lock:
            waiting = self._waiting.get(kind, ())
            if attempt not in waiting:
                return False
            self._waiting[kind].remove(attempt)
            if not self._waiting[kind]:
                del self._waiting[kind]
            return True

    def take_waiting(self) -> list[Attempt]:
        """Take back whatever waits."""
        with self._lock:
            taken = [attempt for waiting in self._waiting.values() for attempt in waiting]
            self._waiting.clear()
        return taken
