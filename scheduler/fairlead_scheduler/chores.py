"""Chores beside the loop: each on its own clock, some of them sharing a session and a thread.

None of them may delay a tick, so they never run on the loop's thread.
"""

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from time import monotonic
from typing import NamedTuple

import psycopg
from psycopg.pq import TransactionStatus

from fairlead import log
from fairlead.bell import Bell
from fairlead.store import Connection
from fairlead_scheduler.leader import Lead

_log = log.get("scheduler")
_CANCEL_SECONDS_MAX = 1.0
_JOIN_SECONDS_MAX = 5.0
_REST_SECONDS_MAX = 60.0
_RETRY_SECONDS_LOWEST = 1.0
_RETRY_SECONDS_MAX = 5.0


class Chore(NamedTuple):
    """Something to do again and again."""

    name: str
    every_seconds: float
    do: Callable[[], bool]
    """Whether there is more of it, and it is to be done again at once."""
    duty: float = 1.0
    """The largest share of the time that it may take: what takes long is done less often."""
    at_once: bool = True
    """Whether to do it first when the term begins, and not a round later."""
    rest: Callable[[float], float] | None = None
    """Makes of `every_seconds` how long to rest now, where that varies."""


class Hand:
    """A thread that does chores over one session until the lead is over.

    A chore that fails is done again later; a session that is lost ends the term.

    Args:
        failed: is told the name of each chore that failed.
    """

    def __init__(
        self,
        name: str,
        connection: Connection,
        lead: Lead,
        bell: Bell,
        chores: Sequence[Chore],
        *,
        failed: Callable[[str], None],
    ) -> None:
        self._failed = failed
        self.chores = {chore.name: chore for chore in chores}
        self._name = name
        self._connection = connection
        self._lead = lead
        self._bell = bell
        self._due = {
            chore.name: 0.0 if chore.at_once else monotonic() + chore.every_seconds
            for chore in chores
        }
        self._calls: SimpleQueue[str | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def call(self, chore: str | None) -> None:
        """Have the chore done now, or with None just look whether to go on; from any thread."""
        self._calls.put(chore)

    def join(self) -> None:
        """Stop, after the lead is over: what is under way is cancelled.

        A session that hangs is left behind; what it may still write is fenced by the epoch.
        """
        self.call(None)
        if self._connection.info.transaction_status is TransactionStatus.ACTIVE:
            try:
                self._connection.cancel_safe(timeout=_CANCEL_SECONDS_MAX)
            except psycopg.Error as error:
                _log.debug("chore.not_cancelled", hand=self._name, reason=str(error))
        self._thread.join(_JOIN_SECONDS_MAX)

    def _work(self) -> None:
        try:
            while self._lead.trusted:
                rest = min(self._due.values()) - monotonic()
                self._listen(min(max(0.0, rest), _REST_SECONDS_MAX))
                for chore in self.chores.values():
                    if self._lead.trusted and monotonic() >= self._due[chore.name]:
                        self._do(chore)
        except psycopg.Error as error:
            self._lead.end(f"the session of {self._name} was lost: {type(error).__name__}")
        finally:
            self._lead.end(f"{self._name} stopped")
            self._bell.ring()

    def _listen(self, seconds: float) -> None:
        """Rest for so long, or until called."""
        try:
            name = self._calls.get(timeout=seconds) if seconds else self._calls.get_nowait()
            while True:
                if name is not None:
                    self._due[name] = 0.0
                name = self._calls.get_nowait()
        except Empty:
            return

    def _do(self, chore: Chore) -> None:
        began = monotonic()
        try:
            more = chore.do()
        except psycopg.Error as error:
            if self._connection.broken or self._connection.closed:
                raise
            reason = " ".join(str(error).split())
            _log.warning("chore.failed", chore=chore.name, reason=reason)
            self._failed(chore.name)
            rest = min(max(chore.every_seconds, _RETRY_SECONDS_LOWEST), _RETRY_SECONDS_MAX)
            self._due[chore.name] = monotonic() + rest
            return
        took = monotonic() - began
        every = chore.rest(chore.every_seconds) if chore.rest else chore.every_seconds
        rest = 0.0 if more else max(every, took / chore.duty) - took
        self._due[chore.name] = monotonic() + rest


class Hands:
    """All hands of one term.

    Args:
        lead: what is served.
        bell: rung when a hand stops.
        failed: is told the name of each chore that failed, by the hand's thread.
    """

    def __init__(self, lead: Lead, bell: Bell, *, failed: Callable[[str], None]) -> None:
        self._lead = lead
        self._bell = bell
        self._failed = failed
        self._hands: list[Hand] = []

    def hire(self, name: str, connection: Connection, chores: Sequence[Chore]) -> None:
        """Start one more."""
        lead, bell, failed = self._lead, self._bell, self._failed
        self._hands.append(Hand(name, connection, lead, bell, chores, failed=failed))

    def call(self, chore: str) -> None:
        """Have this chore done now by whoever does it; unknown ones are ignored."""
        for hand in self._hands:
            if chore in hand.chores:
                hand.call(chore)

    def join(self) -> None:
        """Wait until all have stopped, after the lead is over."""
        for hand in self._hands:
            hand.join()
