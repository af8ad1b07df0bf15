"""The doctor's findings, looked for now and then by a thread of its own."""

import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic

import psycopg

from fairlead.db.connect import Unreachable
from fairlead.inspection.doctor.diagnose import diagnose
from fairlead.inspection.doctor.finding import Finding, Unseen
from fairlead.inspection.doctor.reader import Reader
from fairlead_console.reads.sessions import Busy, Sessions, Unusable

_EVERY_SECONDS = 30.0
_EVERY_SECONDS_MAX = 300.0
_PART = 100
"""Looking takes at most one part in so many of the time."""
_FIRST_WAIT_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Examination:
    """What the doctor found at one moment."""

    findings: tuple[Finding, ...]
    unseen: tuple[Unseen, ...]
    at: datetime


class Examiner:
    """Has the doctor look when somebody asks, once in half a minute at most.

    Args:
        sessions: Where it looks, and nobody else does: what it costs keeps no page from being
            told of changes.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._lock = threading.Lock()
        self._looking: threading.Thread | None = None
        self._began = 0.0
        self._every_seconds = _EVERY_SECONDS
        self._last: Examination | None = None

    def begin(self) -> threading.Thread | None:
        """Look, if it is time to; return who does, or did last."""
        with self._lock:
            due = monotonic() - self._began >= self._every_seconds or self._last is None
            if due and (self._looking is None or not self._looking.is_alive()):
                self._began = monotonic()
                self._looking = threading.Thread(
                    target=self._look, name="examiner", daemon=True
                )
                self._looking.start()
            return self._looking

    def last(self) -> Examination | None:
        """Return what was found last; the first time wait a moment for it, None: no longer."""
        looking = self.begin()
        if self._last is None and looking is not None:
            looking.join(_FIRST_WAIT_SECONDS)
        return self._last

    def close(self) -> None:
        """Close its session, or have it closed when it is looking."""
        self._sessions.close()

    def _look(self) -> None:
        try:
            with self._sessions.one() as session:
                began = monotonic()
                reader = Reader(session)
                facts = reader.read()
            slow_seconds = (monotonic() - began) * _PART
            self._every_seconds = min(max(_EVERY_SECONDS, slow_seconds), _EVERY_SECONDS_MAX)
        except (Busy, Unusable, Unreachable, psycopg.Error):
            return  # the page says so itself, and the next one asks again
        except ModuleNotFoundError as error:
            why = f"{error.name} is not installed: pip install 'fairlead[scheduler]'"
            self._last = Examination((), (Unseen("the fleet", why),), datetime.now(UTC))
            return
        self._last = Examination(diagnose(facts), tuple(reader.unseen), datetime.now(UTC))
