"""The finisher: collects ended attempts into batches and stores them, in a thread of its own.

Threads append ended attempts to a list and go on. The finisher takes the list and stores it
with one statement per kind of ending. Where many end, it lingers a few milliseconds for more;
where few do, none would come, and a limit may keep the slot idle until the ending is stored.
"""

import sys
import threading
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from time import monotonic

import psycopg

from fairlead.db.connect import Connection
from fairlead.db.error_text import one_line
from fairlead.runtime import log
from fairlead.runtime.log_throttle import LogThrottle
from fairlead_worker.attempts import attempt_store, error_class
from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.attempts.outcome import Finished, JobLost, Stop
from fairlead_worker.child.attempt_metrics import AttemptMetrics
from fairlead_worker.child.claim_rate import JobRate
from fairlead_worker.child.connections import Connections
from fairlead_worker.child.ending_writer import EndingWriter
from fairlead_worker.child.progress import ProgressReports
from fairlead_worker.child.slots import Slots

BATCH_MAX = 500
LINGER_SECONDS = 0.004
_TICK_SECONDS = 1.0
_POLL_SECONDS = 0.25
_NEVER = sys.maxsize


class Finisher:
    """Stores endings, extensions, checkpoints and progress.

    Args:
        connections: opens the connection.
        slots: what is held; what is stored is dropped.
        metrics: counts what is stored.
        emptied: called when nothing is held any more.
        stop: called with an attempt that turns out to be cancelled or to have lost its job.
        stored: called with attempts that need no more storing; None: not wanted.
    """

    def __init__(
        self,
        connections: Connections,
        slots: Slots,
        metrics: AttemptMetrics,
        *,
        emptied: Callable[[], None],
        stop: Callable[[Attempt, Stop], None],
        stored: Callable[[list[Attempt]], None] | None,
    ) -> None:
        self._slots = slots
        self._metrics = metrics
        self._emptied = emptied
        self._stop_attempt = stop
        self._report_stored = stored
        self._stop = threading.Event()
        self._writer = EndingWriter(connections, self._stop, metrics, slots=slots)
        self._throttle = LogThrottle()
        self._ended: list[Attempt] = []
        self._wake_queue: SimpleQueue[None] = SimpleQueue()
        self._wake_at_count = _NEVER
        self._resting = False
        self._tick_at = monotonic() + _TICK_SECONDS
        self._rate = JobRate(at=monotonic())
        self._log = log.get("worker.finish")
        self.reports = ProgressReports(slots, self.wake)
        self.ended_total = 0
        self.ran_total = 0
        """How many of them had a slot."""

    # --- called by other threads ------------------------------------------------------------

    def ended(self, attempt: Attempt) -> None:
        """Take an attempt that has ended."""
        self._ended.append(attempt)
        if len(self._ended) >= self._wake_at_count:
            self.wake()

    def ended_many(self, attempts: Iterable[Attempt]) -> None:
        """Take attempts that ended without having run."""
        self._ended.extend(attempts)
        self.wake()

    def may_store(self) -> bool:
        """Return whether endings can be stored, as far as is known.

        A connection that is lost while nothing is stored on it is found here, before a claim.
        """
        if self._resting and self._writer.has_news():
            self._slots.block_claims()
            self.wake()
        return not self._slots.claims_blocked

    def wake(self) -> None:
        """Wake the thread."""
        self._wake_at_count = _NEVER
        self._wake_queue.put(None)

    def stop(self) -> None:
        """Store nothing more."""
        self._stop.set()
        self.wake()

    # --- the thread -------------------------------------------------------------------------

    def run(self) -> None:
        """Store until stopped."""
        while not self._stop.is_set():
            self._writer.keep_open()
            self._await_ended()
            self.step()
        self._writer.close()

    def step(self) -> None:
        """Store endings, extensions and checkpoints; once a second, progress and counts."""
        self._store_endings()
        self._store_extensions()
        self._store_checkpoints(self.reports.take_checkpoints())
        if monotonic() >= self._tick_at:
            self._tick_at = monotonic() + _TICK_SECONDS
            self._store_progress()
            self._metrics.flush(self._slots.running)

    def _await_ended(self) -> None:
        seconds = _POLL_SECONDS if self._slots.held else _TICK_SECONDS
        self._rest(1, min(seconds, self.reports.checkpoints_wait_seconds(or_else=seconds)))
        self._rate = self._rate.after(self.ended_total + len(self._ended), monotonic())
        more = self._rate.should_batch and (self._slots.busy or self._slots.ready)
        if self._ended and more:
            self._rest(BATCH_MAX, LINGER_SECONDS)

    def _rest(self, until_ended: int, seconds: float) -> None:
        """Wait until so many have ended, the thread is woken, or the time is over."""
        self._wake_at_count = until_ended
        self._resting = True
        try:
            if len(self._ended) < until_ended:
                self._wake_queue.get(timeout=seconds)
        except Empty:
            return
        finally:
            self._resting = False
            self._wake_at_count = _NEVER

    def _store_endings(self) -> None:
        batch = self._take()
        if not batch:
            return
        lost = [each for each in batch if isinstance(each.ending, JobLost)]
        storable = [each for each in batch if each not in lost] if lost else batch
        self._store_checkpoints(self.reports.take_checkpoints_of(storable))
        stored = self._writer.write(storable)
        if self._stop.is_set():
            return
        if self._report_stored is not None:
            self._report_stored(stored + lost)
        self._forget_progress(stored)
        self._slots.drop(stored)
        self._slots.drop(lost)
        if not self._slots.held:
            self._emptied()

    def _take(self) -> list[Attempt]:
        """Take what has ended; others append meanwhile, at the end only."""
        count = min(len(self._ended), 2 * BATCH_MAX)
        batch = self._ended[:count]
        del self._ended[:count]
        self.ended_total += count
        self.ran_total += len([each for each in batch if each.ended_us])
        return batch + self._writer.take_due(monotonic())

    def _store_extensions(self) -> None:
        extensions = [] if self._writer.is_backing_off else self.reports.take_extensions()
        connection = self._writer.connect_if_needed() if extensions else None
        if connection is None:
            return
        try:
            stops = attempt_store.extend(connection, extensions)
        except psycopg.Error as error:
            self.reports.put_back(extensions)
            self._writer.failed(error)
            return
        self._writer.succeeded()
        for attempt, _ in extensions:
            why = stops.get(attempt.token)
            if why is not None:
                self._stop_attempt(attempt, why)

    def _store_progress(self) -> None:
        latest = [] if self._writer.is_backing_off else self.reports.take_latest()
        if latest:
            self._try(lambda connection: attempt_store.store_progress(connection, latest))

    def _store_checkpoints(self, checkpoints: list[tuple[Attempt, str]]) -> None:
        """Store what jobs go on from; what cannot be stored now is tried again."""
        wanted = [each for each in checkpoints if not _is_over(each[0])]
        if not wanted:
            return
        is_waiting = self._writer.is_backing_off
        connection = None if is_waiting else self._writer.connect_if_needed()
        if connection is None:
            self.reports.put_back_checkpoints(wanted)
            return
        try:
            became = attempt_store.store_checkpoints(connection, wanted)
        except psycopg.Error as error:
            self._checkpoints_refused(wanted, error)
            return
        self._writer.succeeded()
        for attempt, text in wanted:
            if became[attempt.token] == "locked":
                self.reports.put_back_checkpoints([(attempt, text)])
            elif became[attempt.token] == "stale" and _holds_its_job(attempt):
                self._stop_attempt(attempt, "lost")

    def _checkpoints_refused(
        self, wanted: list[tuple[Attempt, str]], error: psycopg.Error
    ) -> None:
        """Keep checkpoints for later, but for one that the database will never take."""
        if not error_class.is_job_fault(error):
            self.reports.put_back_checkpoints(wanted)
            self._writer.failed(error)
        elif len(wanted) > 1:
            for each in wanted:
                self._store_checkpoints([each])
        else:
            job_id = wanted[0][0].job_id
            self._log.error("checkpoint.refused", job=job_id, reason=one_line(error))

    def _forget_progress(self, attempts: list[Attempt]) -> None:
        ended = self.reports.take_ended(attempts)
        if ended:
            self._try(lambda connection: attempt_store.forget_progress(connection, ended))

    def _try(self, write: Callable[[Connection], None]) -> None:
        """Run a statement that nothing depends on; when it fails, its data is lost."""
        connection = self._writer.connect_if_needed()
        if connection is None:
            return
        try:
            write(connection)
        except psycopg.Error as error:
            if self._throttle.due(type(error).__name__, monotonic()):
                self._log.warning("progress.not_stored", reason=one_line(error))


def _holds_its_job(attempt: Attempt) -> bool:
    """Return whether an attempt has neither ended nor completed its job itself."""
    return not attempt.ended_us and not attempt.finished_by_handler


def _is_over(attempt: Attempt) -> bool:
    """Return whether an attempt has ended and its job with it: nothing goes on from there."""
    return bool(attempt.ended_us) and isinstance(attempt.ending, Finished | None)
