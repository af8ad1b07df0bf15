"""Write a batch of endings, whatever comes between.

Each statement is fenced by tokens, so a batch that met a lost connection or a deadlock is
sent again as it is. What had been written changes nothing then, and is found on record
instead of being called stale. An ending that the database refuses is sent alone, and its
attempt fails with the database's own words.

An application may hold a job for as long as its transaction is open, after a cancel for
example. That delays the ending of this job and, once, by a moment, what is written with it.
"""

import random
import threading
from collections.abc import Callable
from time import monotonic
from typing import cast

import psycopg

from fairlead import log, store
from fairlead.sql import integers, load
from fairlead.store import Connection
from fairlead_worker import child_store, outcome
from fairlead_worker.attempt import Attempt
from fairlead_worker.books import Books
from fairlead_worker.outcome import Completed, Finished, HandedBack

_AGAIN_SECONDS = 0.1
_LOCKED_SECONDS = 0.5
_HELD = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)
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
        self._wary_of: set[int] = set()
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
        held, locked = self._finish(connection, finals)
        became = child_store.hand_back(connection, backs) if backs else {}
        if len(held) == len(finals) and not backs and not claimed:
            self._books.finished(finals)
            return finals, []
        stale = [each for each in finals if each.row[1] not in held | locked]
        stale += [each for each in backs if became[each.row[1]] == "stale"]
        unsure = stale + claimed
        on_record = child_store.finished(connection, unsure) if unsure else set[int]()
        good = held | on_record
        self._books.finished([each for each in finals + claimed if each.row[1] in good])
        self._books.handed_back(backs, became)
        self._books.stale([each for each in stale if each.row[1] not in on_record])
        locked |= {token for token, verdict in became.items() if verdict == "locked"}
        self._set_aside([each for each in finals + backs if each.row[1] in locked])
        undone = [each for each in claimed if each.row[1] not in on_record]
        done = [each for each in finals + backs if each.row[1] not in locked]
        done += [each for each in claimed if each.row[1] in on_record]
        return done, _undo(undone)

    def _finish(
        self, connection: Connection, finals: list[Attempt]
    ) -> tuple[set[int], set[int]]:
        """End jobs for good; return the tokens that ended one, and those that were locked.

        Waiting for a job that somebody holds would delay all the others: so what was locked
        once is never waited for again.
        """
        wary = [each for each in finals if each.row[1] in self._wary_of]
        brisk = [each for each in finals if each not in wary] if wary else finals
        held, locked = set[int](), set[int]()
        try:
            if brisk:
                held = child_store.finish(connection, brisk)
        except _HELD:
            wary = finals
        if wary:
            ended, locked = _finish_free(connection, wary)
            held |= ended
            self._wary_of = self._wary_of.difference(each.row[1] for each in wary) | locked
        return held, locked

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


def _finish_free(connection: Connection, wary: list[Attempt]) -> tuple[set[int], set[int]]:
    """End those of the jobs that nobody else holds; return their tokens, and the others'."""
    with connection.transaction():
        keys = sorted(each.row[:2] for each in wary)
        rows = connection.execute(
            load("fairlead_worker", "finish_free"),
            {
                "ids": integers(job_id for job_id, _ in keys),
                "tokens": integers(token for _, token in keys),
            },
        ).fetchall()
        free = {cast("int", token) for token, is_free in rows if is_free}
        ours = [each for each in wary if each.row[1] in free]
        held = child_store.finish(connection, ours) if ours else set[int]()
    return held, {cast("int", token) for token, is_free in rows if not is_free}


def _undo(undone: list[Attempt]) -> list[Attempt]:
    """Give attempts whose handler completed nothing the ending that they have instead."""
    for attempt in undone:
        if isinstance(attempt.ending, Completed):
            attempt.ending = attempt.ending.or_else
    return undone


def _words(error: psycopg.Error) -> str:
    return " ".join(str(error).split())
