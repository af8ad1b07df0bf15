"""The thread that keeps a worker's lease, and speaks to the database for the parent.

It has one connection. It renews the lease on time, at once when somebody cancels a job that
runs here, and between renewals it runs the parent's errands, in order. Whatever fails for a
passing reason is done again, over a new connection if need be; the parent's own loop never
waits for it.

The lease is trusted from the moment *before* a renewal was sent: `trusted_until` is that moment
plus the lease less its margin. The parent ends its handlers when that passes, whatever this
thread is waiting for.
"""

import random
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

import psycopg

from fairlead import log, store
from fairlead.bell import Bell
from fairlead.migrate import schema_state
from fairlead.reminder import Reminder
from fairlead_worker import parent_store
from fairlead_worker.connecting import tell_waiting
from fairlead_worker.keys import Key
from fairlead_worker.orders import Orders
from fairlead_worker.rest import UNMARKED, Mark
from fairlead_worker.session import Session

_REST_SECONDS_MAX = 5.0
_CLOSE_SECONDS = 0.5

Reply = Callable[[], None]
"""What the parent's loop does with an answer."""

Errand = Callable[[Session], Reply]
"""Something to do in the database. It is done again when a connection breaks in the middle."""


@dataclass(frozen=True, slots=True)
class Held:
    """The lease of one worker row, and until when we may trust it (monotonic)."""

    worker_id: int
    trusted_until: float


@dataclass(frozen=True, slots=True)
class Dead:
    """Somebody has marked this worker dead: what it held may run elsewhere."""

    worker_id: int


@dataclass(frozen=True, slots=True)
class Unusable:
    """There is no going on, ever; the sentence says why, and for people what to do."""

    exit_code: int
    sentence: str


Standing = Held | Dead | Unusable | None


class LeaseThread:
    """Keeps the lease until `stop`.

    Args:
        orders: the worker's settings.
        name: the worker's name, for `pg_stat_activity`.
        running: the attempts that run now, as pairs of job id and token; asked by this thread.
        news: rung when anything has changed.
    """

    def __init__(
        self,
        orders: Orders,
        *,
        name: str,
        running: Callable[[], tuple[Key, ...]],
        news: Bell,
    ) -> None:
        self._orders = orders
        self._name = name
        self._running = running
        self._news = news
        self._wake = Bell()
        self._stop = threading.Event()
        self._errands: deque[Errand] = deque()
        self.replies: deque[Reply] = deque()
        self._session: Session | None = None
        self._renew_at = 0.0
        self._told = 0, 0
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)
        self._log, self._reminder = log.get("worker.lease"), Reminder()
        self._waits = tell_waiting(self._log, self._reminder)
        self.slots = 1  # a row has one at least
        self.beside = 0
        """How many attempts are leased that no slot is taken for."""
        self.standing: Standing = None
        self.mark = UNMARKED
        self.cancelled: frozenset[int] = frozenset()
        self.renewals = {"renewed": 0, "dead": 0, "failed": 0}

    def start(self) -> None:
        """Begin to connect."""
        self._thread.start()

    def ask(self, errand: Errand) -> None:
        """Have something done, after what was asked before; its reply comes to `replies`."""
        self._errands.append(errand)
        self._wake.ring()

    @property
    def connected(self) -> bool:
        """Whether there is a session, as far as is known."""
        return self._session is not None

    def watch(self, now: float) -> None:
        """Cut off a call that the database does not answer. From the parent's loop."""
        session = self._session
        if session is not None and session.cut_if_stuck(now):
            self._log.warning("database.call_cut", seconds=self._orders.worker_call_seconds)

    def stop(self) -> None:
        """End the thread; one that a frozen server holds is left behind."""
        self._stop.set()
        self._wake.ring()
        self._thread.join(_CLOSE_SECONDS)
        if not self._thread.is_alive():
            self.close()

    def close(self) -> None:
        """Let go of what a thread that does not run has taken."""
        self._wake.close()

    def offer(self, slots: int) -> None:
        """Have the row say how many jobs the children that are ready run at a time."""
        if slots != self.slots:
            self.slots = slots
            self._wake.ring()

    def offer_beside(self, beside: int) -> None:
        """Have it say how many are leased beside those slots.

        The leader takes what is leased from both together: there is room for the rest.
        """
        if beside != self.beside:
            self.beside = beside
            self._wake.ring()

    def hold(self, registered: parent_store.Registered, since: float, slots: int) -> None:
        """Trust the lease of this row, taken with so many slots by an errand since then."""
        self._told = slots, 0
        self.mark = registered.mark
        self._renew_at = since + self._orders.worker_renew_seconds
        self._tell(Held(registered.worker_id, self._trust(since)))

    def drop(self) -> None:
        """Renew no more: an errand gives the row up."""
        self.mark = UNMARKED
        self._tell(None)

    def note_drained(self) -> None:
        """Take note that an errand has written that nothing is held under the mark."""
        self.mark = Mark(draining=True, drained=True)

    # --- the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                try:
                    self._step()
                except psycopg.Error as error:
                    self._failed(error)
        except Exception as fault:  # noqa: BLE001 - a mistake of ours: the parent must not go on
            self._tell(Unusable(1, f"the lease cannot be kept: {fault!r}"))
        if self._session is not None:
            self._session.close()

    def _step(self) -> None:
        """Be connected, renew when it is time, run one errand, or else rest."""
        session = self._session or self._connected()
        if session is None:
            return
        self._renew_if_due(session)
        if self._errands:
            reply = self._errands[0](session)
            self._errands.popleft()
            self.replies.append(reply)
            self._news.ring()
        else:
            self._rest(session)

    def _renew_if_due(self, session: Session) -> None:
        standing, started = self.standing, monotonic()
        due = started >= self._renew_at or (self.slots, self.beside) != self._told
        if not isinstance(standing, Held) or not due:
            return
        renewal = parent_store.Renewal(
            worker_id=standing.worker_id,
            lease_seconds=self._orders.worker_lease_seconds,
            slots=self.slots,
            beside=self.beside,
            running=self._running(),
        )
        renewed = parent_store.renew(session, renewal)
        self.renewals["renewed" if renewed is not None else "dead"] += 1
        if renewed is None:
            self._tell(Dead(standing.worker_id))
            return
        self._renew_at = started + self._orders.worker_renew_seconds
        self._told = renewal.slots, renewal.beside
        self.cancelled, self.mark = renewed.cancelled, renewed.mark
        self._tell(Held(standing.worker_id, self._trust(started)))

    def _rest(self, session: Session) -> None:
        """Wait for an errand, a notification or the next renewal."""
        held = isinstance(self.standing, Held)
        seconds = self._renew_at - monotonic() if held else _REST_SECONDS_MAX
        told = session.wait(self._wake, max(0.0, seconds))
        calls = {str(job_id) for job_id, _ in self._running()}
        if self._orders.pod_uid is not None:  # its mark has changed
            calls.add(self._orders.pod_uid)
        if calls.intersection(told):
            self._renew_at = 0.0

    def _connected(self) -> Session | None:
        connection = store.connect_patiently(self._open, self._stop, self._waits)
        if connection is None:
            return None
        session = Session(connection, call_seconds=self._orders.worker_call_seconds)
        if self._orders.database_direct:
            # The server gives up a little before we do, so that it answers why.
            milliseconds = int(self._orders.worker_call_seconds * 900)
            session.say(f"set statement_timeout = {milliseconds}".encode())
            session.say(b"listen fairlead_cancel")
        self._log.info("database.connected", name=self._name)
        self._renew_at = 0.0
        self._session = session
        return session

    def _open(self) -> store.Connection:
        connection = store.connect_service(self._orders, name=f"worker {self._name}")
        try:
            schema = schema_state(connection)
        except psycopg.Error as error:
            connection.close()
            raise store.Unreachable(f"cannot read the schema's version: {error}") from None
        if schema.fits:
            return connection
        connection.close()
        if schema.too_new:
            self._tell(Unusable(2, schema.sentence()))
        raise store.Unreachable(schema.sentence())

    def _failed(self, error: psycopg.Error) -> None:
        """Say it, and rest a little; a call that failed is made again."""
        session = self._session
        broken = session is None or session.broken
        if session is not None and broken:
            session.close()
            self._session = None
        if isinstance(self.standing, Held) and monotonic() >= self._renew_at:
            self.renewals["failed"] += 1
        if not broken and len(self._errands) > 1:
            self._errands.rotate(-1)
        reason = " ".join(str(error).split()) or type(error).__name__
        if self._reminder.due(type(error).__name__, monotonic()):
            self._log.warning("database.failed", why=reason, connected=not broken)
        self._stop.wait(random.uniform(0.02, 0.2) if broken else random.uniform(0.2, 1.0))

    def _trust(self, since: float) -> float:
        return since + self._orders.worker_lease_seconds - self._orders.worker_margin_seconds

    def _tell(self, standing: Standing) -> None:
        self.standing = standing
        self._news.ring()
