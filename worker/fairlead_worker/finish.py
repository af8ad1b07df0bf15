"""The finisher: takes what has ended and has it written, in a thread of its own.

Threads append what has ended to a list and go on. The finisher takes the list and writes it
with one statement per kind of ending. Where many end it lingers a few milliseconds for more;
where few do none would come, and a limit may keep the slot idle until the ending is written.
"""

import sys
import threading
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from time import monotonic

import psycopg

from fairlead import log
from fairlead.reminder import Reminder
from fairlead.store import Connection
from fairlead_worker import child_store
from fairlead_worker.attempt import Attempt
from fairlead_worker.counts import Counts
from fairlead_worker.outcome import Stop, Unsaid
from fairlead_worker.pace import Pace
from fairlead_worker.progress import Reports
from fairlead_worker.slots import Slots
from fairlead_worker.write import Writer

BATCH_MAX = 500
LINGER_SECONDS = 0.004
_TICK_SECONDS = 1.0
_LOOK_SECONDS = 0.25
_NEVER = sys.maxsize


class Finisher:
    """Writes endings, extensions and progress.

    Args:
        open_one: opens a connection.
        slots: what is held; what is written is let go.
        counts: counts what is written.
        emptied: called when nothing is held any more.
        stop: called with an attempt that turns out to be cancelled or to have lost its job.
        written: called with attempts whose endings need no more writing; None: nobody asks.
    """

    def __init__(
        self,
        open_one: Callable[[], Connection],
        slots: Slots,
        counts: Counts,
        *,
        emptied: Callable[[], None],
        stop: Callable[[Attempt, Stop], None],
        written: Callable[[list[Attempt]], None] | None,
    ) -> None:
        self._slots = slots
        self._counts = counts
        self._emptied = emptied
        self._stop_attempt = stop
        self._written = written
        self._stop = threading.Event()
        self._writer = Writer(open_one, self._stop, counts, slots=slots)
        self._reminder = Reminder()
        self._ended: list[Attempt] = []
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._ring_at = _NEVER
        self._tick_at = monotonic() + _TICK_SECONDS
        self._pace = Pace(at=monotonic())
        self._log = log.get("worker.finish")
        self.reports = Reports(slots, self.ring)
        self.total = 0

    # --- called by other threads ------------------------------------------------------------

    def ended(self, attempt: Attempt) -> None:
        """Take an attempt that has ended."""
        self._ended.append(attempt)
        if len(self._ended) >= self._ring_at:
            self.ring()

    def ended_many(self, attempts: Iterable[Attempt]) -> None:
        """Take attempts that ended without having run."""
        self._ended.extend(attempts)
        self.ring()

    def ring(self) -> None:
        """Wake the thread."""
        self._ring_at = _NEVER
        self._bell.put(None)

    def stop(self) -> None:
        """Write nothing more."""
        self._stop.set()
        self.ring()

    # --- the thread -------------------------------------------------------------------------

    def run(self) -> None:
        """Write until told to stop."""
        while not self._stop.is_set():
            self._await_work()
            self.step()
        self._writer.close()

    def step(self) -> None:
        """Write what has ended and what was extended; once a second, progress and counts."""
        self._write_endings()
        self._write_extensions()
        if monotonic() >= self._tick_at:
            self._tick_at = monotonic() + _TICK_SECONDS
            self._write_progress()
            self._counts.close_second(self._slots.running)

    def _await_work(self) -> None:
        self._rest(1, _LOOK_SECONDS if self._slots.held else _TICK_SECONDS)
        self._pace = self._pace.after(self.total + len(self._ended), monotonic())
        more = self._pace.is_brisk and (self._slots.busy or self._slots.ready)
        if self._ended and more:
            self._rest(BATCH_MAX, LINGER_SECONDS)

    def _rest(self, until_ended: int, seconds: float) -> None:
        """Wait until so many have ended, the bell rings, or the time is over."""
        self._ring_at = until_ended
        try:
            if len(self._ended) < until_ended:
                self._bell.get(timeout=seconds)
        except Empty:
            return
        finally:
            self._ring_at = _NEVER

    def _write_endings(self) -> None:
        batch = self._take()
        if not batch:
            return
        unsaid = [each for each in batch if isinstance(each.ending, Unsaid)]
        said = [each for each in batch if each not in unsaid] if unsaid else batch
        written = self._writer.write(said)
        if self._stop.is_set():
            return
        if self._written is not None:
            self._written(written + unsaid)
        self._forget_progress(written)
        self._slots.settle(written)
        self._slots.settle(unsaid)
        if not self._slots.held:
            self._emptied()

    def _take(self) -> list[Attempt]:
        """Take what has ended; others append meanwhile, at the end only."""
        count = min(len(self._ended), 2 * BATCH_MAX)
        batch = self._ended[:count]
        del self._ended[:count]
        self.total += count
        return batch + self._writer.due(monotonic())

    def _write_extensions(self) -> None:
        extensions = [] if self._writer.rests else self.reports.take_extensions()
        connection = self._writer.connected() if extensions else None
        if connection is None:
            return
        try:
            stops = child_store.extend(connection, extensions)
        except psycopg.Error as error:
            self.reports.put_back(extensions)
            self._writer.failed(error)
            return
        self._writer.worked()
        for attempt, _ in extensions:
            why = stops.get(attempt.token)
            if why is not None:
                self._stop_attempt(attempt, why)

    def _write_progress(self) -> None:
        latest = [] if self._writer.rests else self.reports.take_latest()
        if latest:
            self._try(lambda connection: child_store.report(connection, latest))

    def _forget_progress(self, attempts: list[Attempt]) -> None:
        ended = self.reports.take_ended(attempts)
        if ended:
            self._try(lambda connection: child_store.forget_reports(connection, ended))

    def _try(self, write: Callable[[Connection], None]) -> None:
        """Write what nothing depends on; when that fails, it is gone."""
        connection = self._writer.connected()
        if connection is None:
            return
        try:
            write(connection)
        except psycopg.Error as error:
            if self._reminder.due(type(error).__name__, monotonic()):
                self._log.warning("progress.lost", why=str(error))
