"""Write a batch of endings, whatever comes between.

Each statement is fenced by tokens, so a batch that met a lost connection or a deadlock is
sent again as it is. What had been written changes nothing then, and is found on record
instead of being called stale.

An ending that can be stored nowhere, because of what it says, is looked for by halving its
batch, and its attempt fails with the database's own words. Whatever else keeps an ending from
being stored, such as a read-only server or a missing partition, says nothing about the job: the
ending is kept, its job with it, and is sent again over a new connection until it is stored.
Meanwhile nothing is claimed: what would come of that could not be stored either.

An application may hold a job for as long as its transaction is open, after a cancel for
example. That delays the ending of this job and, once, by a moment, what is written with it.
"""

import threading
from collections import deque
from collections.abc import Callable
from time import monotonic

import psycopg

from fairlead import log, store
from fairlead.reminder import Reminder
from fairlead.store import Connection
from fairlead_worker import child_store, fault, outcome
from fairlead_worker.attempt import Attempt
from fairlead_worker.connecting import tell_waiting
from fairlead_worker.counts import Counts
from fairlead_worker.outcome import Completed, Finished, HandedBack
from fairlead_worker.patience import Patience
from fairlead_worker.slots import Slots

_LOCKED_SECONDS = 0.5
_KEEP_SECONDS = 60.0
"""An ending that is kept for long keeps its deadline so far ahead: it is not overdue."""
_FAILURES_MAX = 24
_HELD = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)


class Writer:
    """Owns the connection for endings; all in one thread.

    Args:
        open_one: opens a connection.
        stop: set when nothing may be written any more.
        counts: counts what was written.
        slots: told whether endings can be written.
    """

    def __init__(
        self,
        open_one: Callable[[], Connection],
        stop: threading.Event,
        counts: Counts,
        *,
        slots: Slots,
    ) -> None:
        self._open_one = open_one
        self._stop = stop
        self._counts = counts
        self._slots = slots
        self._connection: Connection | None = None
        self._locked: list[tuple[float, Attempt]] = []
        self._wary_of: set[int] = set()
        self._kept: list[Attempt] = []
        self._patience, self._reminder = Patience(), Reminder()
        self._log = log.get("worker.finish")
        self._tell_waiting = tell_waiting(self._log, self._reminder)

    def connected(self) -> Connection | None:
        """Return an open connection, waiting for one; None when told to stop."""
        if self._connection is None or self._connection.closed:
            self._connection = store.connect_patiently(self._open_one, self._stop, self._waits)
            if not self._patience.failing:
                self._slots.ease()
        return self._connection

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()

    def due(self, now: float) -> list[Attempt]:
        """Return what may be tried again: what somebody had locked, and what was kept."""
        due = [attempt for at, attempt in self._locked if at <= now]
        self._locked = [(at, attempt) for at, attempt in self._locked if at > now]
        if self._kept and not self.rests:
            due += self._kept
            self._kept = []
        return due

    @property
    def rests(self) -> bool:
        """Whether something failed a moment ago, so that it is too early to try again."""
        return self._patience.rests(monotonic())

    def write(self, batch: list[Attempt]) -> list[Attempt]:
        """Write endings; return those that need no more writing.

        The others are locked, or cannot be stored for now, and come back through `due`; or it
        was told to stop.
        """
        if self.rests:
            self._kept += batch
            return []
        pieces, written, failures = deque([batch]), list[Attempt](), 0
        why: psycopg.Error | None = None
        while pieces and not self._stop.is_set():
            connection = self.connected()
            if connection is None:
                break
            piece, began = pieces.popleft(), monotonic()
            try:
                done, undone = self._round(connection, piece)
            except psycopg.Error as error:
                why, failures = error, failures + 1
                if fault.may_be_of_some(error):
                    pieces.extend(self._instead(piece, error, failures))
                else:
                    self._kept += [each for left in (piece, *pieces) for each in left]
                    break
            else:
                self._counts.wrote(len(piece), monotonic() - began)
                written += done
                pieces.extend([undone] if undone else [])
        self._conclude(why)
        return written

    def failed(self, error: psycopg.Error) -> None:
        """Take note that the database took something not, rest, and connect anew."""
        whole = not fault.may_be_of_some(error)
        self._slots.hinder()
        rest_seconds = self._patience.failed(monotonic())
        if self._reminder.due(type(error).__name__, monotonic()):
            tell = self._log.warning if whole else self._log.error
            tell(
                "endings.kept",
                why=_words(error),
                count=len(self._kept),
                again_in_seconds=round(rest_seconds, 3),
            )
        self.close()

    def _conclude(self, why: psycopg.Error | None) -> None:
        if why is None or not self._kept:
            self.worked()
            return
        if fault.may_be_of_some(why):
            self._keep_deadlines()
        self.failed(why)

    def worked(self) -> None:
        """Take note that something could be written: unless endings are kept, all is well."""
        if not self._kept:
            self._patience.worked()
            self._reminder.over()
            self._slots.ease()

    def _keep_deadlines(self) -> None:
        """Have nobody take what is kept for overdue: it has ended, and must not run again."""
        connection = self.connected()
        if connection is not None:
            try:
                child_store.extend(connection, [(each, _KEEP_SECONDS) for each in self._kept])
            except psycopg.Error as error:
                self._log.debug("deadlines.not_kept", why=_words(error))

    def _instead(
        self, piece: list[Attempt], error: psycopg.Error, failures: int
    ) -> tuple[list[Attempt], ...]:
        """Return what to write instead of what failed: its halves, or other words, or nothing.

        The search for what is to blame is bounded where that may be all of it.
        """
        own = fault.is_the_jobs(error)
        if len(piece) > 1 and (own or failures <= _FAILURES_MAX):
            alike = sorted(piece, key=_likeness)
            half = len(alike) // 2
            return alike[:half], alike[half:]
        if own and self._reword(piece[0], error):
            return (piece,)
        self._kept += piece
        return ()

    def _round(
        self, connection: Connection, batch: list[Attempt]
    ) -> tuple[list[Attempt], list[Attempt]]:
        """Write each pile with its statement; return what is done, and what is to do next."""
        finals = [each for each in batch if isinstance(each.ending, Finished | None)]
        backs = [each for each in batch if isinstance(each.ending, HandedBack)]
        completed = [each for each in batch if isinstance(each.ending, Completed)]
        held, locked = self._finish(connection, finals)
        became = child_store.hand_back(connection, backs) if backs else {}
        if len(held) == len(batch):  # as nearly always
            self._counts.finished(finals)
            return batch, []
        locked |= {token for token, verdict in became.items() if verdict == "locked"}
        answered = held | locked
        stale = [each for each in finals if each.token not in answered]
        stale += [each for each in backs if became[each.token] == "stale"]
        unsure = stale + completed
        on_record = child_store.finished(connection, unsure) if unsure else set[int]()
        good = held | on_record
        self._counts.finished([each for each in finals + completed if each.token in good])
        self._counts.handed_back(backs, became)
        lost = [each for each in stale if each.token not in on_record]
        for each in lost:
            each.stale = True
        self._counts.stale(lost)
        self._set_aside([each for each in batch if each.token in locked])
        undone = [each for each in completed if each.token not in on_record]
        left = locked.union(each.token for each in undone)
        return [each for each in batch if each.token not in left], _undo(undone)

    def _finish(
        self, connection: Connection, finals: list[Attempt]
    ) -> tuple[set[int], set[int]]:
        """End jobs for good; return the tokens that ended one, and those that were locked.

        Waiting for a job that somebody holds would delay all the others: so what was locked
        once is never waited for again.
        """
        wary = [each for each in finals if each.token in self._wary_of]
        brisk = [each for each in finals if each not in wary] if wary else finals
        held, locked = set[int](), set[int]()
        try:
            if brisk:
                held = child_store.finish(connection, brisk)
        except _HELD:
            wary = finals
        if wary:
            ended, locked = child_store.finish_free(connection, wary)
            held |= ended
            self._wary_of = self._wary_of.difference(each.token for each in wary) | locked
        return held, locked

    def _set_aside(self, locked: list[Attempt]) -> None:
        """Keep what an open transaction has locked, such as one of its handler, for later."""
        again = monotonic() + _LOCKED_SECONDS
        self._locked += [(again, each) for each in locked]

    def _reword(self, attempt: Attempt, error: psycopg.Error) -> bool:
        """Fail an attempt with the database's words; False when it says as little already."""
        ending, words = attempt.ending, f"its ending could not be stored: {_words(error)}"
        self._log.error("ending.refused", job=attempt.job_id, why=words)
        if isinstance(ending, HandedBack) and ending.delay_seconds is None:
            return False
        ended_as = ending.ended_as if isinstance(ending, HandedBack) else "failed"
        attempt.ending = HandedBack(ended_as, outcome.clean(words))
        return True

    def _waits(self, why: str, rest_seconds: float) -> None:
        self._slots.hinder()
        self._tell_waiting(why, rest_seconds)


def _likeness(attempt: Attempt) -> str:
    """Return what is alike for endings that one statement writes into one table."""
    ending = attempt.ending
    return ending.outcome if isinstance(ending, Finished) else type(ending).__name__


def _undo(undone: list[Attempt]) -> list[Attempt]:
    """Give attempts whose handler completed nothing the ending that they have instead."""
    for attempt in undone:
        if isinstance(attempt.ending, Completed):
            attempt.ending = attempt.ending.or_else
    return undone


def _words(error: psycopg.Error) -> str:
    return " ".join(str(error).split())
