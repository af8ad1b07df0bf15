"""Store a batch of endings, whatever fails meanwhile.

Each statement is fenced by tokens, so a batch that met a lost connection or a deadlock is sent
again as it is. What had been stored changes nothing then, and is found in the history instead
of counting as stale.

An ending that can be stored nowhere, because of its content, is found by halving its batch, and
its attempt fails with the database's own message. Whatever else keeps an ending from being
stored, such as a read-only server or a missing partition, says nothing about the job: the
ending is kept, its job stays held, and it is sent again over a new connection until it is
stored. Meanwhile nothing is claimed, because those jobs' endings could not be stored either.

An application may lock a job for as long as its transaction is open, after a cancel for
example. That delays the ending of this job and, once, by a moment, what is stored with it.
"""

import threading
from collections import deque
from time import monotonic

import psycopg

from fairlead.db.connect import Connection
from fairlead.db.error_text import one_line
from fairlead.runtime import log
from fairlead.runtime.log_throttle import LogThrottle
from fairlead_worker.attempts import attempt_store, error_class
from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.attempts.outcome import Finished, FinishedByHandler, HandedBack
from fairlead_worker.attempts.traceback_text import clean
from fairlead_worker.child.attempt_metrics import AttemptMetrics
from fairlead_worker.child.connections import Connections
from fairlead_worker.child.slots import Slots
from fairlead_worker.db.outage_backoff import Backoff
from fairlead_worker.db.reconnect import is_readable, log_waiting

_LOCKED_SECONDS = 0.5
_EXTEND_SECONDS = 60.0
"""How far ahead the deadline of an ending that waits for long is kept: it is not overdue."""
_FAILURES_MAX = 24
_LOCK_ERRORS = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)


class EndingWriter:
    """Owns the connection for endings; all in one thread.

    Args:
        connections: opens the connection.
        stop: set when nothing may be stored any more.
        metrics: counts what was stored.
        slots: learns whether endings can be stored.
    """

    def __init__(
        self,
        connections: Connections,
        stop: threading.Event,
        metrics: AttemptMetrics,
        *,
        slots: Slots,
    ) -> None:
        self._connections = connections
        self._stop = stop
        self._metrics = metrics
        self._slots = slots
        self._connection: Connection | None = None
        self._locked: list[tuple[float, Attempt]] = []
        self._contended: set[int] = set()
        self._kept: list[Attempt] = []
        self._backoff, self._throttle = Backoff(), LogThrottle()
        self._log = log.get("worker.finish")
        self._log_waiting = log_waiting(self._log, self._throttle)

    def keep_open(self) -> None:
        """Open the connection, or another one if it was lost; only then are claims allowed.

        One that is useless without the others is given back until all can be had.
        """
        if self.is_backing_off:
            return
        connection = self._connection
        if connection is not None and self._connections.is_useless("endings"):
            self._slots.block_claims()
            self.close()
        if connection is not None and not connection.closed and is_readable(connection):
            self._read_news(connection)
        if self.connect_if_needed() is not None and not self._backoff.is_failing:
            self._slots.unblock_claims()

    def connect_if_needed(self) -> Connection | None:
        """Return an open connection, waiting for one; None when stopped."""
        if self._connection is None or self._connection.closed:
            self._connection = self._connections.connect(
                "endings", self._stop, self._connection_failed
            )
        return self._connection

    def has_news(self) -> bool:
        """Return whether the server has sent something unasked, such as the end of it all.

        From any thread, while nothing is asked of it.
        """
        connection = self._connection
        return connection is not None and is_readable(connection)

    def _read_news(self, connection: Connection) -> None:
        try:
            connection.execute(b"", prepare=False)  # which reads whatever has come
        except psycopg.Error as error:
            self._slots.block_claims()
            if self._throttle.due(type(error).__name__, monotonic()):
                self._log.warning("endings.disconnected", reason=one_line(error))
            self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def take_due(self, now: float) -> list[Attempt]:
        """Take what may be tried again: what was locked, and what could not be stored."""
        due = [attempt for at, attempt in self._locked if at <= now]
        self._locked = [(at, attempt) for at, attempt in self._locked if at > now]
        if self._kept and not self.is_backing_off:
            due += self._kept
            self._kept = []
        return due

    @property
    def is_backing_off(self) -> bool:
        """Whether something failed a moment ago, so that it is too early to try again."""
        return self._backoff.is_waiting(monotonic())

    def write(self, batch: list[Attempt]) -> list[Attempt]:
        """Store endings; return those that need no more storing.

        The others are locked, or cannot be stored for now, and come back through `take_due`; or
        the writer was stopped.
        """
        if self.is_backing_off:
            self._kept += batch
            self._slots.locked_endings = len(self._locked)
            return []
        pieces, stored, failures = deque([batch]), list[Attempt](), 0
        why: psycopg.Error | None = None
        while pieces and not self._stop.is_set():
            connection = self.connect_if_needed()
            if connection is None:
                break
            piece, began = pieces.popleft(), monotonic()
            try:
                done, undone = self._write_piece(connection, piece)
            except psycopg.Error as error:
                why, failures = error, failures + 1
                if error_class.may_concern_some_only(error):
                    pieces.extend(self._split(piece, error, failures))
                else:
                    self._kept += [each for left in (piece, *pieces) for each in left]
                    break
            else:
                self._metrics.batch_stored(len(piece), monotonic() - began)
                stored += done
                pieces.extend([undone] if undone else [])
        self._slots.locked_endings = len(self._locked)
        self._conclude(why)
        return stored

    def failed(self, error: psycopg.Error) -> None:
        """Note that the database refused something: back off, and connect anew."""
        whole = not error_class.may_concern_some_only(error)
        self._slots.block_claims()
        rest_seconds = self._backoff.failed(monotonic())
        if self._throttle.due(type(error).__name__, monotonic()):
            write_log = self._log.warning if whole else self._log.error
            write_log(
                "endings.not_stored",
                reason=one_line(error),
                count=len(self._kept),
                again_in_seconds=round(rest_seconds, 3),
            )
        self.close()

    def _conclude(self, why: psycopg.Error | None) -> None:
        if why is None or not self._kept:
            self.succeeded()
            return
        if error_class.may_concern_some_only(why):
            self._extend_deadlines()
        self.failed(why)

    def succeeded(self) -> None:
        """Note that something could be stored: unless endings are left, back off no more."""
        if not self._kept:
            self._backoff.succeeded()
            self._throttle.reset()
            self._slots.unblock_claims()

    def _extend_deadlines(self) -> None:
        """Keep unstored attempts from being overdue: they ended, and must not run again."""
        connection = self.connect_if_needed()
        if connection is not None:
            try:
                attempt_store.extend(
                    connection, [(each, _EXTEND_SECONDS) for each in self._kept]
                )
            except psycopg.Error as error:
                self._log.debug("deadlines.not_extended", reason=one_line(error))

    def _split(
        self, piece: list[Attempt], error: psycopg.Error, failures: int
    ) -> tuple[list[Attempt], ...]:
        """Return what to store instead of what failed: its halves, its failure, or nothing.

        The search for the culprit is bounded where that may be all of it.
        """
        own = error_class.is_job_fault(error)
        if len(piece) > 1 and (own or failures <= _FAILURES_MAX):
            alike = sorted(piece, key=_statement_of)
            half = len(alike) // 2
            return alike[:half], alike[half:]
        if own and self._fail_unstorable(piece[0], error):
            return (piece,)
        self._kept += piece
        return ()

    def _write_piece(
        self, connection: Connection, batch: list[Attempt]
    ) -> tuple[list[Attempt], list[Attempt]]:
        """Store each kind of ending with its statement; return what is done, and what to do."""
        finishing = [each for each in batch if isinstance(each.ending, Finished | None)]
        handed_back = [each for each in batch if isinstance(each.ending, HandedBack)]
        by_handler = [each for each in batch if isinstance(each.ending, FinishedByHandler)]
        held, locked = self._finish(connection, finishing)
        states = attempt_store.hand_back(connection, handed_back) if handed_back else {}
        if len(held) == len(batch):  # as nearly always
            self._metrics.finished(finishing)
            return batch, []
        locked |= {token for token, state in states.items() if state == "locked"}
        answered = held | locked
        stale = [each for each in finishing if each.token not in answered]
        stale += [each for each in handed_back if states[each.token] == "stale"]
        released = _release(connection, by_handler) if by_handler else set[int]()
        unsure = stale + [each for each in by_handler if each.token not in released]
        on_record = attempt_store.finished(connection, unsure) if unsure else set[int]()
        on_record |= released
        stored = held | on_record
        self._metrics.finished(
            [each for each in finishing + by_handler if each.token in stored]
        )
        self._metrics.handed_back(handed_back, states)
        self._slots.unhandled.handed_back(handed_back, states)
        lost = [each for each in stale if each.token not in on_record]
        for each in lost:
            each.stale = True
        self._metrics.stale(lost)
        self._retry_later([each for each in batch if each.token in locked])
        undone = [each for each in by_handler if each.token not in on_record]
        left = locked.union(each.token for each in undone)
        return [each for each in batch if each.token not in left], _replace_endings(undone)

    def _finish(
        self, connection: Connection, finishing: list[Attempt]
    ) -> tuple[set[int], set[int]]:
        """Finish jobs; return the tokens that did, and those that were locked.

        Waiting for a locked job would delay all others, so what was locked once is never waited
        for again.
        """
        contended = [each for each in finishing if each.token in self._contended]
        uncontended = finishing
        if contended:
            uncontended = [each for each in finishing if each not in contended]
        held, locked = set[int](), set[int]()
        try:
            if uncontended:
                held = attempt_store.finish(connection, uncontended)
        except _LOCK_ERRORS:
            contended = finishing
        if contended:
            ended, locked = attempt_store.finish_free(connection, contended)
            held |= ended
            self._contended = (
                self._contended.difference(each.token for each in contended) | locked
            )
        return held, locked

    def _retry_later(self, locked: list[Attempt]) -> None:
        """Keep for later what an open transaction has locked, such as that of its handler."""
        again = monotonic() + _LOCKED_SECONDS
        self._locked += [(again, each) for each in locked]

    def _fail_unstorable(self, attempt: Attempt, error: psycopg.Error) -> bool:
        """Fail an attempt with the database's message; False when it says as little already."""
        ending, message = attempt.ending, f"its ending could not be stored: {one_line(error)}"
        self._log.error("ending.refused", job=attempt.job_id, reason=message)
        if isinstance(ending, HandedBack) and ending.delay_seconds is None:
            return False
        ended_as = ending.ended_as if isinstance(ending, HandedBack) else "failed"
        attempt.ending = HandedBack(ended_as, clean(message))
        return True

    def _connection_failed(self, why: str, rest_seconds: float) -> None:
        self._slots.block_claims()
        self._log_waiting(why, rest_seconds)


def _release(connection: Connection, completed: list[Attempt]) -> set[int]:
    """Free the slots of handlers that have finished their jobs; return those that had."""
    return attempt_store.release(connection, {each.key: each.held_us for each in completed})


def _statement_of(attempt: Attempt) -> str:
    """Return a key that is equal for endings that one statement stores in one table."""
    ending = attempt.ending
    return ending.outcome if isinstance(ending, Finished) else type(ending).__name__


def _replace_endings(undone: list[Attempt]) -> list[Attempt]:
    """Give attempts whose handler finished nothing the ending that they have instead."""
    for attempt in undone:
        if isinstance(attempt.ending, FinishedByHandler):
            attempt.ending = attempt.ending.or_else
    return undone
