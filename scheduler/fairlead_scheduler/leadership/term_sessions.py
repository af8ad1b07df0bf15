"""All sessions of a leader: opened before it may take over, kept from one term to the next.

A standby that opened them at its take-over would get none where connections are used up: those
of the dead leader go to whoever asks first, and so do those that a leader gives back at the end
of a term. A scheduler that starts and cannot have all of them holds none, and does not try to
take over: those that it got are free for others.
"""

from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from threading import Timer
from time import monotonic
from typing import NamedTuple

import psycopg
from psycopg.pq import TransactionStatus

from fairlead.db.connect import Connection, Unreachable, abort_connection
from fairlead.db.shared_session import is_standby
from fairlead_scheduler.leadership.sessions import (
    connect_counter,
    connect_leader,
    connect_loop,
    connect_reader,
    connect_retention,
)
from fairlead_scheduler.settings import SchedulerSettings

_OPENERS = {
    "lead": connect_leader,
    "loop": connect_loop,
    "scans": connect_reader,
    "sweeps": connect_leader,
    "cron": connect_leader,
    "retention": connect_retention,
    "backlog": connect_counter,
}
"""What opens the session of each name."""
_INCOMPLETE_SECONDS_MAX = 10.0
"""How long some are kept while others cannot be opened. Two schedulers that lack one each
would wait for each other's for ever."""
_SETTLED = (TransactionStatus.IDLE, TransactionStatus.INTRANS, TransactionStatus.INERROR)
"""The states in which no statement is under way."""


class TermSessions(NamedTuple):
    """The sessions of one scheduler."""

    lead: Connection
    """Of the lease alone."""
    loop: Connection
    scans: Connection
    """Of long reads."""
    sweeps: Connection
    """Of sweeps and of the watch of the policy."""
    cron: Connection
    """Of schedules and batches."""
    retention: Connection
    """Of retention and of the shadow policy."""
    backlog: Connection
    """Of counts of lanes and of the demand of pools."""


class KeptSessions:
    """The sessions of one process, from one term to the next.

    `complete` opens those that it lacks, and `settle` closes those that are of no more use. It
    is of one thread; between these two calls the sessions are the term's.
    """

    def __init__(self, settings: SchedulerSettings) -> None:
        self._settings = settings
        self._kept: dict[str, Connection] = {}
        self._incomplete_since: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether none is held."""
        return not self._kept

    def complete(self) -> TermSessions:
        """Return all sessions, after opening those that are missing, or none of these.

        Those that were kept are given up as well after 10 s in which some could not be opened.

        Raises:
            Unreachable: one could not be opened.
        """
        try:
            self._kept.update(_open_all_but(self._kept, self._settings))
        except Unreachable:
            now = monotonic()
            since = self._incomplete_since = self._incomplete_since or now
            if now - since >= _INCOMPLETE_SECONDS_MAX:
                self.close()
            raise
        self._incomplete_since = None
        return TermSessions(**self._kept)

    def settle(self) -> None:
        """Undo what a term left in the sessions; close those in which that is impossible.

        Call it after the term's threads have stopped. A repeat changes nothing. It takes no
        longer than `network_timeout_seconds`: a frozen server answers nothing.
        """
        due = monotonic() + self._settings.network_timeout_seconds
        for name, session in tuple(self._kept.items()):
            with _aborted_at(due, session):
                settled = _settle(session, direct=self._settings.database_direct)
            if not settled:
                session.close()
                del self._kept[name]

    def close(self) -> None:
        """Close all of them; a repeat changes nothing."""
        for session in self._kept.values():
            session.close()
        self._kept, self._incomplete_since = {}, None


def _open_all_but(
    kept: dict[str, Connection], settings: SchedulerSettings
) -> dict[str, Connection]:
    """Open all sessions that are not kept, or none."""
    opened: dict[str, Connection] = {}
    with ExitStack() as leaving:
        for name, connect in _OPENERS.items():
            if name in kept:
                continue
            try:
                session = connect(settings, name=name)
            except Unreachable as error:
                held = len(kept) + len(opened)
                if not held:
                    raise
                raise Unreachable(
                    f"{error}; a scheduler holds {len(_OPENERS)} connections or none, and "
                    f"there were {held}"
                ) from None
            opened[name] = leaving.enter_context(closing(session))
        leaving.pop_all()
    return opened


@contextmanager
def _aborted_at(due: float, session: Connection) -> Generator[None]:
    """Abort what is under way in a session at an instant of the monotonic clock."""
    watchdog = Timer(due - monotonic(), abort_connection, [session])
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()
        watchdog.join()


def _settle(session: Connection, *, direct: bool) -> bool:
    """Make a session like a new one, and return whether that was possible.

    A rollback also forgets the prepared statements: whatever ended the term may be in a plan.
    One on a standby is of no use: its address may mean the primary by now.
    """
    if session.info.transaction_status not in _SETTLED:
        return False
    try:
        session.rollback()
        session.execute(b"unlisten *" if direct else b"select", prepare=False)
        with session.transaction(force_rollback=True):
            pass
        return not is_standby(session)
    except psycopg.Error:
        return False
