"""The thread that renews a worker's lease and makes all of the parent's database calls.

It has one connection. It renews the lease on time, and at once when a job that runs here is
cancelled; between renewals it runs the tasks that the parent's loop submits, in order. A call
that fails for a passing reason is repeated, over a new connection if need be. The parent's loop
never waits for this thread. Now and then it asks whose the pool is: the worker stops when that
is another release.

The lease is trusted from the moment *before* a renewal was sent: `trusted_until` is that moment
plus the lease less its margin. The parent ends its handlers when it passes, whatever this
thread is waiting for.
"""

import random
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

import psycopg

from fairlead import access, ownership
from fairlead.db import connect
from fairlead.db.error_text import one_line
from fairlead.db.migrate import schema_state
from fairlead.runtime import log
from fairlead.runtime.log_throttle import LogThrottle
from fairlead.runtime.wakeup import Wakeup
from fairlead_worker.config import WorkerConfig
from fairlead_worker.db.reconnect import log_waiting
from fairlead_worker.db.session import Session
from fairlead_worker.ipc.attempt_key import Key
from fairlead_worker.ipc.source import Source
from fairlead_worker.parent import worker_store
from fairlead_worker.parent.pod_drain_state import UNMARKED, DrainMark

_REST_SECONDS_MAX = 5.0
_ALONE_SECONDS = 3.0
"""For how long a parent keeps its connection while its children can have none."""
_AWAY_SECONDS_FIRST, _AWAY_SECONDS_MAX = 2.0, 30.0
_POLL_SECONDS = 0.2
_ASK_OWNER_SECONDS = 10.0
"""For how long a worker may serve a pool that has come to belong to another release."""
_CLOSE_SECONDS = 0.5

Reply = Callable[[], None]
"""What the parent's loop does with a task's result."""

DatabaseTask = Callable[[Session], Reply]
"""A task for the database. It is repeated when the connection breaks in the middle."""


@dataclass(frozen=True, slots=True)
class LeaseHeld:
    """The lease of one worker row, and until when to trust it (monotonic)."""

    worker_id: int
    trusted_until: float


@dataclass(frozen=True, slots=True)
class MarkedDead:
    """The worker's row has been marked dead: its jobs may run elsewhere."""

    worker_id: int


@dataclass(frozen=True, slots=True)
class DatabaseUnusable:
    """The worker cannot continue, ever; the sentence says why, and what a person can do."""

    exit_code: int
    sentence: str


LeaseStatus = LeaseHeld | MarkedDead | DatabaseUnusable | None
_Reported = tuple[int, int, frozenset[Source], frozenset[str]]


class LeaseThread:
    """Renews the lease until `stop`.

    Args:
        config: the worker's settings.
        name: the worker's name, for `pg_stat_activity`.
        running: returns the keys of the attempts that run now; called by this thread.
        changed: woken when the status has changed or a reply has come.
    """

    def __init__(
        self,
        config: WorkerConfig,
        *,
        name: str,
        running: Callable[[], tuple[Key, ...]],
        changed: Wakeup,
    ) -> None:
        self._config = config
        self._name = name
        self._running = running
        self._changed = changed
        self._wake = Wakeup()
        self._stop = threading.Event()
        self._tasks: deque[DatabaseTask] = deque()
        self.replies: deque[Reply] = deque()
        self._session: Session | None = None
        self._connected_at = self._away_until = 0.0
        self._away_seconds = _AWAY_SECONDS_FIRST
        self._renew_at = self._ask_owner_at = 0.0
        self._reported: _Reported = 0, 0, frozenset(), frozenset()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)
        self._log, self._throttle = log.get("worker.lease"), LogThrottle()
        self._log_waiting = log_waiting(self._log, self._throttle)
        self.slots = 1  # a row has one at least
        self.slotless = 0
        """How many attempts are leased to this worker and take no slot."""
        self.crash_breakers: frozenset[Source] = frozenset()
        """The sources that run alone on this worker."""
        self.evictable_kinds: frozenset[str] = frozenset()
        """The kinds of which a run may be asked to make room."""
        self.is_alone = False
        """Whether no child has its connections, and the parent could not have them either."""
        self.status: LeaseStatus = None
        self.pool_refusal = ""
        """Why this worker may no longer serve its pool, for good; empty: it may."""
        self.drain_mark = UNMARKED
        self.cancelled: frozenset[int] = frozenset()
        self.evicted: frozenset[int] = frozenset()
        """The attempts that are to make room."""
        self.renewals = {"renewed": 0, "dead": 0, "failed": 0}

    def start(self) -> None:
        """Start the thread, which connects."""
        self._thread.start()

    def submit(self, task: DatabaseTask) -> None:
        """Have a task run after those submitted before; its reply comes to `replies`."""
        self._tasks.append(task)
        self._wake.wake()

    @property
    def is_connected(self) -> bool:
        """Whether there is a session, as far as is known."""
        return self._session is not None

    def abort_stuck_call(self, now: float) -> None:
        """Cut off a call that the database does not answer. Called by the parent's loop."""
        session = self._session
        if session is not None and session.abort_if_stuck(now):
            self._log.warning("database.call_aborted", seconds=self._config.worker_call_seconds)

    def stop(self) -> None:
        """Stop the thread; one that a frozen server blocks is left behind."""
        self._stop.set()
        self._wake.wake()
        self._thread.join(_CLOSE_SECONDS)
        if not self._thread.is_alive():
            self.close()

    def close(self) -> None:
        """Close the wakeup; only for a thread that does not run."""
        self._wake.close()

    def set_slots(self, slots: int) -> None:
        """Report in the row how many jobs the ready children run at a time."""
        if slots != self.slots:
            self.slots = slots
            self._wake.wake()

    def set_slotless(self, slotless: int) -> None:
        """Report how many attempts are leased in addition to those slots.

        The leader subtracts the leased attempts from slots and these together; the rest is
        free.
        """
        if slotless != self.slotless:
            self.slotless = slotless
            self._wake.wake()

    def set_crash_breakers(self, sources: frozenset[Source]) -> None:
        """Report in the row which sources run alone, for people to see."""
        if sources != self.crash_breakers:
            self.crash_breakers = sources
            self._wake.wake()

    def set_evictable_kinds(self, kinds: frozenset[str]) -> None:
        """Report in the row of which kinds a run may be asked to make room."""
        if kinds != self.evictable_kinds:
            self.evictable_kinds = kinds
            self._wake.wake()

    def registered(self, row: worker_store.Registered, since: float, slots: int) -> None:
        """Trust the lease of a row that a task inserted with so many slots, since it began."""
        self._reported = slots, 0, frozenset(), frozenset()
        self.drain_mark = row.drain_mark
        self._renew_at = since + self._config.worker_renew_seconds
        self._set_status(LeaseHeld(row.worker_id, self._trusted_until(since)))

    def stop_renewing(self) -> None:
        """Renew no more: the caller gives the row up."""
        self.drain_mark = UNMARKED
        self._set_status(None)

    def note_drained(self) -> None:
        """Note that a task has stored that the marked pod holds nothing."""
        self.drain_mark = DrainMark(draining=True, drained=True)

    # --- the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                try:
                    self._step()
                except psycopg.Error as error:
                    self._failed(error)
        except access.RoleMissing as refused:
            self._set_status(DatabaseUnusable(2, str(refused)))
        except Exception as fault:  # noqa: BLE001 - a bug: the parent must not continue
            self._set_status(DatabaseUnusable(1, f"the lease cannot be kept: {fault!r}"))
        if self._session is not None:
            self._session.close()

    def _step(self) -> None:
        """Connect, renew when it is time, run one task, or else wait."""
        self._give_back_if_alone()
        if self._is_away():
            self._wake.wait(_POLL_SECONDS)
            return
        session = self._session or self._connect()
        if session is None:
            return
        self._renew_if_due(session)
        self._ask_owner_if_due(session)
        if self._tasks:
            reply = self._tasks[0](session)
            self._tasks.popleft()
            self.replies.append(reply)
            self._changed.wake()
        else:
            self._rest(session)

    def _give_back_if_alone(self) -> None:
        """Give the connection back which is of no use alone, and which others may lack.

        Not while something is to be done; a lease is renewed over another one.
        """
        now, session = monotonic(), self._session
        if not self.is_alone:
            self._away_seconds = _AWAY_SECONDS_FIRST
            return
        is_due = not self._tasks and now - self._connected_at > _ALONE_SECONDS
        if session is not None and is_due:
            session.close()
            self._session = None
            self._away_until = now + random.uniform(0.25, 1.0) * self._away_seconds
            self._away_seconds = min(2 * self._away_seconds, _AWAY_SECONDS_MAX)
            self._log.info("database.given_back", name=self._name)
            self._changed.wake()

    def _is_away(self) -> bool:
        """Return whether to leave the connection that was given back to others for now."""
        until = self._away_until
        if isinstance(self.status, LeaseHeld):
            until = min(until, self._renew_at)
        return self._session is None and not self._tasks and monotonic() < until

    def _renew_if_due(self, session: Session) -> None:
        status, started = self.status, monotonic()
        reported = self.slots, self.slotless, self.crash_breakers, self.evictable_kinds
        due = started >= self._renew_at or reported != self._reported
        if not isinstance(status, LeaseHeld) or not due:
            return
        renewal = worker_store.Renewal(
            worker_id=status.worker_id,
            lease_seconds=self._config.worker_lease_seconds,
            slots=reported[0],
            slotless=reported[1],
            crash_breakers=reported[2],
            evictable_kinds=reported[3],
            running=self._running(),
        )
        renewed = worker_store.renew(session, renewal)
        self.renewals["renewed" if renewed is not None else "dead"] += 1
        if renewed is None:
            self._set_status(MarkedDead(status.worker_id))
            return
        self._renew_at = started + self._config.worker_renew_seconds
        self._reported = reported
        self.cancelled, self.evicted = renewed.cancelled, renewed.evicted
        self.drain_mark = renewed.drain_mark
        self._set_status(LeaseHeld(status.worker_id, self._trusted_until(started)))

    def _ask_owner_if_due(self, session: Session) -> None:
        """See whether the pool has come to belong to another release. It only reads."""
        now, config = monotonic(), self._config
        if now < self._ask_owner_at or self.pool_refusal:
            return
        self._ask_owner_at = now + _ASK_OWNER_SECONDS
        owner = worker_store.pool_owner(session, config.pool)
        if owner not in ("", config.release):
            self.pool_refusal = ownership.pool_refusal(config.pool, owner, config.release)
            self._changed.wake()

    def _rest(self, session: Session) -> None:
        """Wait for a task, a notification or the next renewal."""
        is_held = isinstance(self.status, LeaseHeld)
        seconds = self._renew_at - monotonic() if is_held else _REST_SECONDS_MAX
        seconds = min(seconds, _ALONE_SECONDS) if self.is_alone else seconds
        payloads = session.wait(self._wake, max(0.0, seconds))
        mine = {str(job_id) for job_id, _ in self._running()}
        if self._config.pod_uid is not None:  # its drain mark has changed
            mine.add(self._config.pod_uid)
        if mine.intersection(payloads):
            self._renew_at = 0.0

    def _connect(self) -> Session | None:
        connection = connect.connect_with_backoff(self._open, self._stop, self._log_waiting)
        if connection is None:
            return None
        session = Session(connection, call_seconds=self._config.worker_call_seconds)
        if self._config.database_direct:
            session.run(b"listen fairlead_cancel")
        self._log.info("database.connected", name=self._name)
        self._renew_at = 0.0
        self._connected_at, self._away_until = monotonic(), 0.0
        self._session = session
        self._changed.wake()
        return session

    def _open(self) -> connect.Connection:
        # The server times out a little before we do, so that its answer says why.
        milliseconds = int(self._config.worker_call_seconds * 900)
        connection = connect.connect_service(
            self._config,
            name=f"worker {self._name}",
            more={"statement_timeout": str(milliseconds)},
        )
        try:
            self._refuse_unfit(connection)
        except psycopg.Error as error:
            connection.close()
            raise connect.Unreachable(
                f"cannot read the schema's version: {one_line(error)}"
            ) from None
        except (connect.Unreachable, access.RoleMissing):
            connection.close()
            raise
        return self._owning(connection)

    def _refuse_unfit(self, connection: connect.Connection) -> None:
        """Raise what this worker has to wait for, or what only a person changes."""
        reason = access.lacking(connection, access.WORKER)
        if reason is None:
            schema = schema_state(connection)
            if schema.fits:
                return
            reason = schema.sentence()
            if schema.too_new:
                self._set_status(DatabaseUnusable(2, reason))
        raise connect.Unreachable(reason)

    def _owning(self, connection: connect.Connection) -> connect.Connection:
        """Return the connection, unless the pool belongs to another release.

        Where another session is about to make a release the owner and does not commit, this
        worker serves the pool until it asks again.
        """
        pool, release = self._config.pool, self._config.release
        try:
            owner = ownership.own_pool(connection, pool, release)
        except psycopg.Error as error:
            connection.close()
            raise connect.Unreachable(f"cannot read the pool's owner: {error}") from None
        if owner is None:
            self._log.warning("pool.owner_undecided", pool=pool, release=release)
        elif owner != release:
            connection.close()
            raise connect.Unreachable(ownership.pool_refusal(pool, owner, release))
        self._ask_owner_at = monotonic() + _ASK_OWNER_SECONDS
        return connection

    def _failed(self, error: psycopg.Error) -> None:
        """Log the error and wait a little; the call that failed is repeated."""
        session = self._session
        broken = session is None or session.broken
        if session is not None and broken:
            session.close()
            self._session = None
        if isinstance(self.status, LeaseHeld) and monotonic() >= self._renew_at:
            self.renewals["failed"] += 1
        if not broken and len(self._tasks) > 1:
            self._tasks.rotate(-1)
        reason = one_line(error)
        if self._throttle.due(type(error).__name__, monotonic()):
            self._log.warning("database.failed", reason=reason, connected=not broken)
        self._stop.wait(random.uniform(0.02, 0.2) if broken else random.uniform(0.2, 1.0))

    def _trusted_until(self, since: float) -> float:
        return since + self._config.worker_lease_seconds - self._config.worker_margin_seconds

    def _set_status(self, status: LeaseStatus) -> None:
        self.status = status
        self._changed.wake()
