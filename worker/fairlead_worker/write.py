"""Write a batch of endings, whatever comes between.

Each statement is fenced by tokens, so a batch that met a lost connection or a deadlock is
sent again as it is. What had been written changes nothing then, and is found on record
instead of being called stale. An ending that the database refuses is sent alone, and its
attempt fails with the database's own words.
"""

import random
import threading
from collections.abc import Callable
from time import monotonic

import psycopg

from fairlead import log, store
from fairlead.store import Connection
from fairlead_worker import child_store, outcome
from fairlead_worker.attempt import Attempt
from fairlead_worker.books import Books
from fairlead_worker.outcome import Completed, Finished, HandedBack

_AGAIN_SECONDS = 0.1
_LOCKED_SECONDS = 0.5
_REFUSALS = (
    psycopg.DataError,
    psycopg.IntegrityError,
    psycopg.InternalError,
    psycopg.NotSupportedError,
    psycopg.ProgrammingError,
)


class Writer:
    """Owns the connection for endings; all in one thread.

    Args:
        open_one: opens a connection.
        stop: set when nothing may be written any more.
        books: counts what was written.
    """

    def __init__(
        self, open_one: Callable[[], Connection], stop: threading.Event, books: Books
    ) -> None:
        self._open_one = open_one
        self._stop = stop
        self._books = books
        self._connection: Connection | None = None
        self._locked: list[tuple[float, Attempt]] = []
        self._log = log.get("worker.finish")

    def connected(self) -> Connection | None:
        """Return an open connection, waiting for one; None when told to stop."""
        if self._connection is None or self._connection.closed:
            self._connection = store.connect_patiently(self._open_one, self._stop, self._waits)
        return self._connection

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()

    def due(self, now: float) -> list[Attempt]:
        """Return what somebody had locked and may be tried again."""
        due = [attempt for at, attempt in self._locked if at <= now]
        self._locked = [(at, attempt) for at, attempt in self._locked if at > now]
        return due

    def write(self, batch: list[Attempt]) -> list[Attempt]:
        """Write endings until all are written; return those that need no more writing.

        The others are locked, and come back through `due`; or it was told to stop.
        """
        left, written, rest_seconds = batch, list[Attempt](), 0.0
        while left and not self._stop.wait(rest_seconds):
            connection = self.connected()
            if connection is None:
                break
            try:
                done, left = self._round(connection, left)
                written += done
                rest_seconds = 0.0
            except _REFUSALS as error:
                if len(left) == 1:
                    written += self._refused(left[0], error)
                    left = []
                else:
                    written += [each for one in left for each in self.write([one])]
                    left = []
            except psycopg.Error as error:
                self._log.warning("endings.delayed", why=_words(error), count=len(left))
                rest_seconds = random.uniform(0, _AGAIN_SECONDS)
        return written

    def _round(
        self, connection: Connection, batch: list[Attempt]
    ) -> tuple[list[Attempt], list[Attempt]]:
        """Write each pile with its statement; return what is done, and what is to do next."""
        finals = [each for each in batch if isinstance(each.ending, Finished | None)]
        backs = [each for each in batch if isinstance(each.ending, HandedBack)]
        claimed = [each for each in batch if isinstance(each.ending, Completed)]
        held = child_store.finish(connection, finals) if finals else set[int]()
        became = child_store.hand_back(connection, backs) if backs else {}
        if len(held) == len(finals) and not backs and not claimed:
            self._books.finished(finals)
            return finals, []
        stale = [each for each in finals if each.row[1] not in held]
        stale += [each for each in backs if became[each.row[1]] == "stale"]
        unsure = stale + claimed
        on_record = child_store.finished(connection, unsure) if unsure else set[int]()
        good = held | on_record
        self._books.finished([each for each in finals + claimed if each.row[1] in good])
        self._books.handed_back(backs, became)
        self._books.stale([each for each in stale if each.row[1] not in on_record])
        self._set_aside([each for each in backs if became[each.row[1]] == "locked"])
        undone = [each for each in claimed if each.row[1] not in on_record]
        done = finals + [each for each in backs if became[each.row[1]] != "locked"]
        done += [each for each in claimed if each.row[1] in on_record]
        return done, _undo(undone)

    def _set_aside(self, locked: list[Attempt]) -> None:
        """Keep what an open transaction has locked, such as one of its handler, for later."""
        again = monotonic() + _LOCKED_SECONDS
        self._locked += [(again, each) for each in locked]

    def _refused(self, attempt: Attempt, error: psycopg.Error) -> list[Attempt]:
        """Fail an attempt whose ending the database refuses; give up if it refuses that."""
        words = outcome.clean(f"its ending could not be stored: {_words(error)}")
        self._log.error("ending.refused", job=attempt.row[0], why=words)
        if isinstance(attempt.ending, HandedBack):
            return [attempt]  # its lease runs out, and the scheduler takes it back
        attempt.ending = HandedBack("failed", words)
        return self.write([attempt])

    def _waits(self, why: str, rest_seconds: float) -> None:
        self._log.warning("database.waiting", why=why, rest_seconds=round(rest_seconds, 3))


def _undo(undone: list[Attempt]) -> list[Attempt]:
    """Give attempts whose handler completed nothing the ending that they have instead."""
    for attempt in undone:
        if isinstance(attempt.ending, Completed):
            attempt.ending = attempt.ending.or_else
    return undone


def _words(error: psycopg.Error) -> str:
    return " ".join(str(error).split())
