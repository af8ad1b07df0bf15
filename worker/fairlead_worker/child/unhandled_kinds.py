"""Kinds that this application has no handler for: claims pass over those that others have.

A job of such a kind was claimed before its kind was known. It goes back, and uses no attempt.
The database says whether another live worker of the pool may have a handler. If so, the kind is
left out of claims for a while, as a kind without room is. If not, the job waits outside the
queue, and its kind is claimed on: in the queue its lane would get stuck behind it.
"""

import random
import threading
from collections.abc import Iterable, Mapping
from time import monotonic

from fairlead.runtime import log
from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.attempts.outcome import HandedBack

_AGAIN_SECONDS = 10.0
"""How long a kind is left out: workers that have it may be gone by then."""
_LOG_SECONDS = 60.0
_KINDS_MAX = 1000


class UnhandledKinds:
    """The kinds that the next claim is to leave out. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[str, float] = {}
        self._said_at: dict[str, float] = {}
        self._log = log.get("worker.claim")

    def claimed(self, attempts: Iterable[Attempt]) -> None:
        """Leave out the kinds of attempts without a handler until the database has answered."""
        until = monotonic() + _AGAIN_SECONDS
        with self._lock:
            for attempt in attempts:
                if is_unhandled(attempt) and len(self._until) < _KINDS_MAX:
                    self._until[attempt.row.kind] = until

    def handed_back(self, attempts: Iterable[Attempt], states: Mapping[int, str]) -> None:
        """Note what the database has answered, as each job's state by token."""
        now = monotonic()
        for attempt in attempts:
            if is_unhandled(attempt):
                self._answered(attempt.row.kind, states.get(attempt.token, "stale"), now)

    def _answered(self, kind: str, state: str, now: float) -> None:
        with self._lock:
            if state == "scheduled":
                self._until.pop(kind, None)
            elif kind in self._until:
                self._until[kind] = now + _AGAIN_SECONDS * random.uniform(0.75, 1.25)
        if state in {"scheduled", "queued"}:
            self._say(kind, elsewhere=state == "queued", now=now)

    def _say(self, kind: str, *, elsewhere: bool, now: float) -> None:
        """Log a kind, once a minute and not without end."""
        if len(self._said_at) >= _KINDS_MAX:
            self._said_at = {
                k: at for k, at in self._said_at.items() if now - at < _LOG_SECONDS
            }
        if now - self._said_at.get(kind, now - _LOG_SECONDS) < _LOG_SECONDS:
            return
        if len(self._said_at) < _KINDS_MAX:
            self._said_at[kind] = now
            others = "another worker may have one" if elsewhere else "nor has any other worker"
            self._log.warning("kind.unhandled", kind=kind, reason=f"no handler here; {others}")

    def left_out(self) -> tuple[str, ...]:
        """Return the kinds that the next claim is to leave out."""
        if not self._until:
            return ()
        now = monotonic()
        with self._lock:
            self._until = {kind: until for kind, until in self._until.items() if until > now}
            return tuple(self._until)


def is_unhandled(attempt: Attempt) -> bool:
    """Return whether an attempt ended because there is no handler for its kind."""
    ending = attempt.ending
    return isinstance(ending, HandedBack) and ending.ended_as == "unhandled"
