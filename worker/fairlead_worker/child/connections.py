"""A child's two connections: it holds both or none, and tells the parent when it has none.

A child claims on one connection and stores endings on the other. It is ready once it has had
both: what it claims before that may end and could not be stored. Where connections run out,
one alone is of no use here and is what another worker lacks. So

* the two are opened together, or neither is, and only while the parent has its own;
* the one for claims is given back when the other or the parent's has been missing for a while;
* the one for endings is given back likewise, but not while an attempt is held, whose ending it
  has to store; for that it is also opened alone, whatever the parent has.

The parent is told of each try that is refused, since this process may be the reason, and when
both are open again.
"""

import threading
from collections.abc import Callable
from time import monotonic
from typing import Literal, TypeAlias

from fairlead.db.connect import Connection, Unreachable
from fairlead_worker.db.outage_backoff import Backoff
from fairlead_worker.ipc.messages import Connected, ConnectionRefused, Ready

Use: TypeAlias = Literal["claims", "endings"]
"""What a connection is for."""
Waiting: TypeAlias = Callable[[str, float], None]
"""Called with why there is none yet, and the rest in seconds until the next try."""

_USELESS_SECONDS = 3.0
_POLL_SECONDS = 0.05


class Connections:
    """Opens the connections for the threads that need them.

    Args:
        open_one: opens a connection of this name.
        ready: what to send once each has been open.
        send: sends messages to the parent.
        holds: returns whether an attempt is held.
    """

    def __init__(
        self,
        open_one: Callable[[str], Connection],
        ready: Ready,
        send: Callable[[Ready | ConnectionRefused | Connected], None],
        *,
        holds: Callable[[], bool],
    ) -> None:
        self._open_one, self._send, self._holds = open_one, send, holds
        self._once_open: Ready | Connected = ready
        self._missing: dict[Use, float] = {"claims": monotonic(), "endings": monotonic()}
        """Since when there is none for this use."""
        self._untaken: dict[Use, Connection] = {}
        """What was opened together with the other, and waits for its thread."""
        self._allowed, self._allowed_at = False, monotonic()
        self._lock, self._opening = threading.Lock(), threading.Lock()

    def allow(self, *, allowed: bool) -> None:
        """Note whether the parent has its own connection; from any thread."""
        with self._lock:
            if allowed != self._allowed:
                self._allowed, self._allowed_at = allowed, monotonic()

    def connect(
        self,
        use: Use,
        stop: threading.Event,
        waiting: Waiting,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Connection | None:
        """Return a connection, in the thread that uses it; None: asked to stop first.

        Args:
            use: for what.
            stop: ends the wait.
            waiting: called after each refusal.
            meanwhile: called again and again until then.
        """
        backoff, next_at = Backoff(), 0.0
        with self._lock:
            self._missing.setdefault(use, monotonic())
        while not stop.is_set():
            meanwhile()
            if not self._may_open(use):
                backoff, next_at = Backoff(), 0.0
            elif monotonic() >= next_at:
                try:
                    return self._open(use)
                except Unreachable as error:
                    self._send(ConnectionRefused(str(error), error.has_answered))
                    rest_seconds = backoff.failed(monotonic())
                    next_at = monotonic() + rest_seconds
                    waiting(str(error), rest_seconds)
            stop.wait(_POLL_SECONDS)
        return None

    def is_useless(self, use: Use) -> bool:
        """Return whether to give this open connection back; the caller closes it then."""
        now = monotonic()
        with self._lock:
            useless = self._is_useless(use, now)
            if useless:
                self._missing[use] = now
        return useless

    def _is_useless(self, use: Use, now: float) -> bool:
        other_lost_at = self._missing.get(_other(use), now)
        is_alone = now - other_lost_at > _USELESS_SECONDS
        if use == "endings":
            return is_alone and not self._holds()
        return is_alone or (not self._allowed and now - self._allowed_at > _USELESS_SECONDS)

    def _may_open(self, use: Use) -> bool:
        with self._lock:
            needed = use == "endings" and self._holds()
            return self._allowed or needed or use in self._untaken

    def _open(self, use: Use) -> Connection:
        if use == "endings" and self._holds():
            return self._opened(use, self._open_all([use]))
        with self._opening:
            with self._lock:
                untaken = self._untaken.pop(use, None)
                wanted: list[Use] = [use, *(each for each in self._missing if each != use)]
            if untaken is not None:
                return untaken
            return self._opened(use, self._open_all(wanted))

    def _open_all(self, wanted: list[Use]) -> dict[Use, Connection]:
        """Open all of them, or none.

        Raises:
            Unreachable: with one sentence that says why.
        """
        opened: dict[Use, Connection] = {}
        try:
            for each in wanted:
                opened[each] = self._open_one(f"worker {each}")
        except (Unreachable, OSError) as error:
            for connection in opened.values():
                connection.close()
            if isinstance(error, Unreachable):
                raise
            # psycopg waits for an answer with a descriptor of its own.
            raise Unreachable(f"cannot reach the database: {error.strerror}") from error
        return opened

    def _opened(self, use: Use, opened: dict[Use, Connection]) -> Connection:
        """Note what is open now; return what was asked for."""
        connection = opened.pop(use)
        with self._lock:
            for other, its in opened.items():
                if other in self._missing:
                    self._untaken[other] = its
                else:  # its thread has opened one meanwhile
                    its.close()
            incomplete = bool(self._missing)
            for each in (use, *opened):
                self._missing.pop(each, None)
            if incomplete and not self._missing:
                self._send(self._once_open)
                self._once_open = Connected()
        return connection


def _other(use: Use) -> Use:
    return "claims" if use == "endings" else "endings"
