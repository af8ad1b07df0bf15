"""Says to every browser that something has changed, and remembers how fast jobs go.

While somebody watches, one thread asks the database once a second, however many watch: two
small statements. A change is told at most once in two seconds, and less often where the pages
that are then asked for keep the database busy: reading them takes one part in 200 of the time,
or happens once a minute. Nobody has to notify for it.
"""

import asyncio
import threading
from collections import deque
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import cast

import psycopg

from fairlead.db.connect import Unreachable
from fairlead.inspection import fleet
from fairlead.inspection.rows import Row
from fairlead_console.reads import moments
from fairlead_console.reads.sessions import Busy, Sessions, Unusable

_EVERY_SECONDS = 1.0
_TOLD_SECONDS = 2.0
_ANYWAY_SECONDS = 10.0
"""How often a page is read anew though nothing has changed: what it says of time has."""
_PART = 200
_TOLD_SECONDS_MAX = 60.0
_KEPT_SECONDS = 300
_GROWING = ("inserted", "started", "succeeded", "unsuccessful")


@dataclass(frozen=True, slots=True)
class Rates:
    """How many jobs a second came, started and ended: the last few seconds, and before."""

    inserted: float
    started: float
    ended: float
    history: tuple[float, ...]
    """Endings a second, the oldest first."""


class Pulse:
    """Watches for changes while there are watchers.

    Args:
        sessions: Where it looks.
        others: Sessions that pages use as well, whose time counts too.
    """

    def __init__(self, sessions: Sessions, *others: Sessions) -> None:
        self._sessions = sessions
        self._paid = (sessions, *others)
        self._condition = threading.Condition()
        self._watchers: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._stopped = False
        self._counters: deque[Row] = deque(maxlen=_KEPT_SECONDS)
        self._thread = threading.Thread(target=self._watch, name="pulse", daemon=True)

    def start(self) -> None:
        """Begin; it rests until there is a watcher."""
        self._thread.start()

    def stop(self) -> None:
        """Wake every watcher, and end."""
        with self._condition:
            self._stopped = True
            self._tell()
            self._condition.notify_all()

    @property
    def is_stopped(self) -> bool:
        """Whether the console ends."""
        return self._stopped

    def add(self, changed: asyncio.Event) -> None:
        """Have an event of the running loop set at each change."""
        with self._condition:
            self._watchers[changed] = asyncio.get_running_loop()
            self._condition.notify_all()

    def remove(self, changed: asyncio.Event) -> None:
        """Set it no more."""
        with self._condition:
            self._watchers.pop(changed, None)

    def rates(self) -> Rates | None:
        """Return how fast jobs go; None: nobody has watched for a few seconds."""
        seen = list(self._counters)
        if len(seen) < 2:
            return None
        recent = seen[-6:]
        history = tuple(
            _per_second(a, b, "succeeded", "unsuccessful")
            for a, b in zip(seen[:-5], seen[5:], strict=True)
        )
        ended = _per_second(recent[0], recent[-1], "succeeded", "unsuccessful")
        inserted, started = (
            _per_second(recent[0], recent[-1], name) for name in ("inserted", "started")
        )
        return Rates(inserted, started, ended, history)

    def _watch(self) -> None:
        last: object = None
        told_at = looked_at = lent_seconds = 0.0
        while True:
            with self._condition:
                self._condition.wait_for(lambda: bool(self._watchers) or self._stopped)
                if self._stopped:
                    return
            now = monotonic()
            if now - looked_at > _ANYWAY_SECONDS:
                self._counters.clear()  # nobody watched: no rate spans that
            seen, looked_at = self._look(), now
            lent = sum(each.lent_seconds for each in self._paid)
            since, spent = now - told_at, lent - lent_seconds
            if since >= rest_seconds(spent) and (seen != last or since >= _ANYWAY_SECONDS):
                last, told_at, lent_seconds = seen, now, lent
                with self._condition:
                    self._tell()
            with self._condition:
                self._condition.wait_for(lambda: self._stopped, timeout=_EVERY_SECONDS)

    def _look(self) -> object:
        """Return what differs when anything has changed; None: the database is away."""
        try:
            with self._sessions.one() as session:
                counters = fleet.counters(session)
                others = moments.pulse(session)
        except (Busy, Unusable, Unreachable, psycopg.Error):
            self._counters.clear()
            return None
        self._counters.append(counters)
        return (*others, *(counters[name] for name in _GROWING))

    def _tell(self) -> None:
        for changed, loop in self._watchers.items():
            loop.call_soon_threadsafe(changed.set)


def rest_seconds(spent_seconds: float) -> float:
    """Return for how long no change is told after pages that cost the database so much."""
    return min(max(_TOLD_SECONDS, spent_seconds * _PART), _TOLD_SECONDS_MAX)


def _per_second(before: Row, after: Row, *names: str) -> float:
    began, ended = (cast("datetime", row["now"]) for row in (before, after))
    seconds = (ended - began).total_seconds()
    grown = sum(int(str(after[name])) - int(str(before[name])) for name in names)
    return max(grown, 0) / seconds if seconds > 0 else 0.0
