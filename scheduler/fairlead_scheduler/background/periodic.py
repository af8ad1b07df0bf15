"""Threads that run periodic tasks, each on its own clock; several share a thread and session.

No task may delay a tick, so none runs on the loop's thread.
"""

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from time import monotonic

import psycopg
from psycopg.pq import TransactionStatus

from fairlead.db.connect import Connection
from fairlead.db.error_text import one_line
from fairlead.runtime import log
from fairlead.runtime.wakeup import Wakeup
from fairlead_scheduler.leadership.election import LeaderLease
from fairlead_scheduler.leadership.periodic_task import PeriodicTask

_log = log.get("scheduler")
_CANCEL_SECONDS_MAX = 1.0
_JOIN_SECONDS_MAX = 5.0
_REST_SECONDS_MAX = 60.0
_RETRY_SECONDS_LOWEST = 1.0
_RETRY_SECONDS_MAX = 5.0


class PeriodicThread:
    """A thread that does tasks over one session until the lease is over.

    A task that fails is done again later, whatever the error: a term that one task ended would
    be followed by one that it ends again. A session that is lost, or that the error has left
    inside a transaction, ends the term.

    Args:
        failed: is called with the name of each task that failed.
    """

    def __init__(
        self,
        name: str,
        connection: Connection,
        lease: LeaderLease,
        wakeup: Wakeup,
        tasks: Sequence[PeriodicTask],
        *,
        failed: Callable[[str], None],
    ) -> None:
        self._failed = failed
        self.tasks = {task.name: task for task in tasks}
        self._name = name
        self._connection = connection
        self._lease = lease
        self._wakeup = wakeup
        self._due = {
            task.name: 0.0 if task.at_once else monotonic() + task.every_seconds
            for task in tasks
        }
        self._calls: SimpleQueue[str | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def call(self, task: str | None) -> None:
        """Run the task now; None only checks whether the term ended. From any thread."""
        self._calls.put(task)

    def join(self) -> None:
        """Stop, after the term is over; the statement under way is cancelled.

        A session that hangs is closed; what it may still write is fenced by the epoch.
        """
        self.call(None)
        if self._connection.info.transaction_status is TransactionStatus.ACTIVE:
            try:
                self._connection.cancel_safe(timeout=_CANCEL_SECONDS_MAX)
            except psycopg.Error as error:
                _log.debug("task.not_cancelled", thread=self._name, reason=one_line(error))
        self._thread.join(_JOIN_SECONDS_MAX)
        if self._thread.is_alive():
            self._connection.close()

    def _work(self) -> None:
        try:
            while self._lease.is_trusted:
                rest = min(self._due.values()) - monotonic()
                self._listen(min(max(0.0, rest), _REST_SECONDS_MAX))
                for task in self.tasks.values():
                    if self._lease.is_trusted and monotonic() >= self._due[task.name]:
                        self._do(task)
        except psycopg.Error as error:
            self._lease.end(f"the session of {self._name} was lost: {type(error).__name__}")
        finally:
            self._lease.end(f"{self._name} stopped")
            self._wakeup.wake()

    def _listen(self, seconds: float) -> None:
        """Rest for so long, or until a task is called for."""
        try:
            name = self._calls.get(timeout=seconds) if seconds else self._calls.get_nowait()
            while True:
                if name is not None:
                    self._due[name] = 0.0
                name = self._calls.get_nowait()
        except Empty:
            return

    def _do(self, task: PeriodicTask) -> None:
        began = monotonic()
        try:
            more = task.do()
        except Exception as error:
            if self._connection.info.transaction_status is not TransactionStatus.IDLE:
                raise
            unexpected = None if isinstance(error, psycopg.Error) else error
            _log.warning(
                "task.failed", task=task.name, reason=one_line(error), exc_info=unexpected
            )
            self._failed(task.name)
            rest = min(max(task.every_seconds, _RETRY_SECONDS_LOWEST), _RETRY_SECONDS_MAX)
            self._due[task.name] = monotonic() + rest
            return
        took = monotonic() - began
        every = task.rest(task.every_seconds) if task.rest else task.every_seconds
        rest = 0.0 if more else max(every, took / task.duty) - took
        self._due[task.name] = monotonic() + rest


class PeriodicThreads:
    """All background threads of one term.

    Args:
        lease: The term's lease.
        wakeup: Woken when a thread stops.
        failed: Called on the task's thread with the name of each task that failed.
    """

    def __init__(
        self, lease: LeaderLease, wakeup: Wakeup, *, failed: Callable[[str], None]
    ) -> None:
        self._lease = lease
        self._wakeup = wakeup
        self._failed = failed
        self._threads: list[PeriodicThread] = []

    def start(self, name: str, connection: Connection, tasks: Sequence[PeriodicTask]) -> None:
        """Start a thread for these tasks."""
        lease, wakeup, failed = self._lease, self._wakeup, self._failed
        self._threads.append(
            PeriodicThread(name, connection, lease, wakeup, tasks, failed=failed)
        )

    def call(self, task: str) -> None:
        """Run this task now, on the thread that has it; unknown names are ignored."""
        for thread in self._threads:
            if task in thread.tasks:
                thread.call(task)

    def join(self) -> None:
        """Wait until all threads have stopped, after the term is over."""
        for thread in self._threads:
            thread.join()
