"""A few sessions that can write nothing, shared by all requests.

Whatever the login may, each transaction acts as `fairlead_viewer`, which has no right to change
anything, is read only, and each of its statements ends after three seconds. One question alone
runs in a transaction that is not read only: why a job waits, which the function `explain`
stores for the leader.
"""

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import Final

import psycopg

from fairlead.db.connect import Address, Connection, connect
from fairlead.db.migrate import schema_state
from fairlead.inspection import clamped

STATEMENT_SECONDS: Final = 3
ROLE: Final = "fairlead_viewer"
_SESSIONS = 4
_PATIENCE_SECONDS = 2.0
_ASKS: Mapping[str, str] = {
    "role": ROLE,
    "statement_timeout": f"'{STATEMENT_SECONDS}s'",
    "lock_timeout": "'1s'",
    "jit": "off",
}
_READS: Mapping[str, str] = {**_ASKS, "transaction_read_only": "on"}


class Unusable(Exception):
    """The database is there and cannot be shown; the message is one sentence for people."""


class Unfit(Unusable):
    """The schema is not the one that this program reads, or not there yet."""


class Busy(Exception):
    """Every session is taken, and stayed so for a while."""


class Sessions:
    """Opens sessions as they are wanted, and keeps them.

    Args:
        address: Where the database is.
        asks: Whether they are for questions to the leader, which are stored.
    """

    def __init__(self, address: Address, *, asks: bool = False) -> None:
        self._address = address
        self._settings = _ASKS if asks else _READS
        self._idle: list[Connection] = []
        self._ended = False
        self._lent_seconds = 0.0
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(_SESSIONS)

    @contextmanager
    def one(self) -> Generator[Connection]:
        """Lend a session for one request.

        Raises:
            Busy: none became free in time.
            Unreachable: with one sentence that says why.
            Unusable: the schema does not fit, or the login may not look.
            psycopg.Error: a statement failed.
        """
        if not self._places.acquire(timeout=_PATIENCE_SECONDS):
            raise Busy
        try:
            with self._lock:
                session = self._idle.pop() if self._idle else None
            session = session or self._open()
            began = monotonic()
            try:
                yield session
            finally:
                self._take_back(session, monotonic() - began)
        finally:
            self._places.release()

    @property
    def lent_seconds(self) -> float:
        """For how long sessions have been lent so far, added up: what reading costs."""
        return self._lent_seconds

    def close(self) -> None:
        """Close what is idle now, and what is lent when it comes back."""
        with self._lock:
            self._ended = True
            idle, self._idle = self._idle, []
        for session in idle:
            session.close()

    def _open(self) -> Connection:
        session = connect(self._address, name="console", more=self._settings)
        clamped.register(session)
        try:
            state = schema_state(session)
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidParameterValue):
            login = session.info.user
            session.close()
            raise Unusable(_not_a_viewer(login)) from None
        except BaseException:
            session.close()
            raise
        if not state.fits:
            session.close()
            raise Unfit(state.sentence())
        return session

    def _take_back(self, session: Connection, lent_seconds: float) -> None:
        clean = session.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            self._lent_seconds += lent_seconds
            keep = clean and not session.closed and not self._ended
            if keep:
                self._idle.append(session)
        if not keep:
            session.close()


def _not_a_viewer(login: str) -> str:
    return (
        f"the login {login} may not act as {ROLE}, which is all that the console does: run "
        f"`fairlead migrate`, then `fairlead roles grant {login} --as viewer`"
    )
