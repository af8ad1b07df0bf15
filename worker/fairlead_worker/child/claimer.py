"""The claimer: takes jobs from the queue while there is room, in a thread of its own.

After a full batch it claims again at once. Otherwise it rests: until a slot is free, until a
NOTIFY for this worker, or for as long as it has already been quiet, within bounds. Polling is
the truth, and a NOTIFY only shortens a rest.
"""

import random
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from select import select
from time import monotonic

import psycopg

from fairlead.db.connect import Connection
from fairlead.db.error_text import one_line
from fairlead.db.notifications import Notifications
from fairlead.job import Claimed
from fairlead.runtime import log
from fairlead.runtime.log_throttle import LogThrottle
from fairlead.runtime.wakeup import Wakeup
from fairlead_worker.attempts import attempt_store
from fairlead_worker.attempts.attempt_store import ClaimRequest
from fairlead_worker.child import claim_rate
from fairlead_worker.child.claim_rate import HELD_MAX, PREFETCH_MAX, JobRate, Room
from fairlead_worker.child.connections import Connections
from fairlead_worker.child.floor_scan_turn import FloorScanTurn
from fairlead_worker.child.intake import Intake
from fairlead_worker.child.slots import Slots
from fairlead_worker.db.reconnect import connections, log_waiting
from fairlead_worker.ipc import messages
from fairlead_worker.metrics import series
from fairlead_worker.metrics.counters import Counters

_LISTEN = b"listen fairlead_work"
_FULL_REST_SECONDS = 1.0
_DISCARD_SECONDS_MAX = 0.05
_URGENT_JITTER_SECONDS = 0.25
_RETRY_SECONDS = 0.5
_PASS_OVER_SECONDS = 0.2
"""How often the leader is told what claims pass over, at most."""
_NO_WORKER_ID = 0  # nothing is claimed before there is an id


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimerLink:
    """How the claimer reaches the database and the parent."""

    connections: Connections
    listens: bool
    send: Callable[[messages.ToParent], None]


class Claimer:
    """Claims for one child.

    Args:
        link: the database and the parent.
        pool: the pool to claim from.
        slots: what is held already.
        intake: where claimed jobs go.
        ended: returns how many attempts have run so far.
        may_store: returns whether the ending of what is claimed now could be stored.
        counters: where claims are counted.
        stopped: called when it has stopped and will claim nothing more.
    """

    def __init__(
        self,
        link: ClaimerLink,
        pool: str,
        *,
        slots: Slots,
        intake: Intake,
        ended: Callable[[], int],
        may_store: Callable[[], bool],
        counters: Counters,
        stopped: Callable[[], None],
    ) -> None:
        self._link, self._request = link, ClaimRequest(_NO_WORKER_ID, pool)
        self._slots, self._intake = slots, intake
        self._ended, self._may_store, self._counters = ended, may_store, counters
        self._stopped = stopped
        self._wakeup = Wakeup()
        self._may_claim, self._stop = threading.Event(), threading.Event()
        self._between_claims: deque[Callable[[], None]] = deque()
        self._rate = JobRate(at=monotonic())
        self._floor_scan = FloorScanTurn()
        self._woken = self._reported_idle = self._ended_claims = False
        self._log, self._throttle = log.get("worker.claim"), LogThrottle()
        self._log_waiting = log_waiting(self._log, self._throttle)
        self._kind_reopened = False
        self._bound: int | None = None
        self._jobs_left: int | None = None
        self._jobs_done_said = False
        self._pass_over_due = 0.0
        slots.wake_claimer = self._wake_by_slots
        slots.kind_reopened = self._reopen_kind

    # --- called by other threads ------------------------------------------------------------

    def start_claiming(self, worker_id: int) -> None:
        """Begin to claim, under this id."""
        self._request = replace(self._request, worker_id=worker_id)
        self._may_claim.set()
        self._wakeup.wake()

    def stop(self) -> None:
        """Claim nothing more."""
        self._stop.set()
        self._wakeup.wake()

    def report_held(self, number: int) -> None:
        """Send all held tokens to the parent between two claims."""
        self._do_between_claims(partial(self._send_held, number))

    def pause(self, paused: Callable[[], None]) -> None:
        """Claim nothing until `start_claiming`; call back once no claim is under way."""
        self._may_claim.clear()
        self._do_between_claims(paused)

    def _do_between_claims(self, between_claims: Callable[[], None]) -> None:
        self._between_claims.append(between_claims)
        self._wakeup.wake()
        if self._ended_claims:  # the thread may have looked for the last time
            self._do_requested()

    def _do_requested(self) -> None:
        """Do what was requested; two threads may at once, after the last claim."""
        while True:
            try:
                requested = self._between_claims.popleft()
            except IndexError:
                return
            requested()

    def bound(self, bound: int | None) -> None:
        """Hold at most so many unstarted attempts from the next claim on; None: no bound."""
        self._bound = bound
        self._wakeup.wake()

    def claim_at_most(self, jobs: int | None) -> None:
        """Claim so many jobs and no more, and tell the parent when all have ended; None: go on.

        To be called before `run`.
        """
        self._jobs_left = jobs

    def wake(self) -> None:
        """Check again how much there is room for, and whether nothing is held."""
        self._wakeup.wake()

    def _wake_by_slots(self) -> None:
        self._slots.wake_claimer_at = -1
        self._wakeup.wake()

    def _reopen_kind(self) -> None:
        self._kind_reopened = True
        self._wakeup.wake()

    # --- the thread -------------------------------------------------------------------------

    def run(self) -> None:
        """Claim until stopped."""
        for connection in connections(self._connect, self._stop):
            self._serve(connection)
        self._ended_claims = True
        self._do_requested()
        self._stopped()

    def _connect(self) -> Connection | None:
        return self._link.connections.connect(
            "claims", self._stop, self._log_waiting, self._do_requested
        )

    def _serve(self, connection: Connection) -> None:
        """Claim on one connection until it is lost, or useless without the others.

        Raises:
            psycopg.Error: the connection stands, and its answer did not fit into memory.
        """
        try:
            notifications = Notifications(connection)
            if self._link.listens:
                connection.execute(_LISTEN)
            while not (self._stop.is_set() or self._link.connections.is_useless("claims")):
                self._step(connection, notifications)
        except psycopg.Error as error:
            if error.sqlstate is None and not connection.closed:
                raise  # which ends the process: the parent makes the next claims smaller
            if self._throttle.due(type(error).__name__, monotonic()):
                self._log.warning("claims.interrupted", reason=one_line(error))
            # The answer to a claim may be lost: then its jobs are leased to us and not held.
            self._link.send(messages.ClaimAnswerLost())
            self._stop.wait(random.uniform(0, _RETRY_SECONDS))

    def _step(self, connection: Connection, notifications: Notifications) -> None:
        """Do what was requested, then claim if there is room, then rest if that is due."""
        self._do_requested()
        count = self._claim_limit() if self._may_store() else 0
        if count == 0:
            self._rest_until_needed(notifications)
            return
        woken, self._woken = self._woken, False
        # A wakeup means rows above the floor; a scan below it can wait.
        found = self._claim(connection, count, woken=woken)
        if woken and found == 0:
            # What it was woken for may be below the floor.
            self._floor_scan = self._floor_scan.missed_wakeup(monotonic())
        if found < count and not self._floor_scan.is_urgent_at(monotonic()):
            self._rest_until_woken(notifications)

    def _send_held(self, number: int) -> None:
        self._link.send(messages.HeldTokens(number, tuple(self._slots.held)))

    def _claim_limit(self) -> int:
        slots = self._slots
        blocked = slots.claims_blocked or slots.loop_stalled
        if blocked or not self._may_claim.is_set() or len(slots.held) > HELD_MAX:
            return 0
        self._rate = self._rate.after(self._ended(), monotonic(), full=slots.free == 0)
        room = Room(free=slots.free, ready=len(slots.ready), held=len(slots.held))
        limit = claim_rate.bounded_limit(room, self._rate.prefetch, self._bound)
        return limit if self._jobs_left is None else min(limit, self._jobs_left)

    def _claim(self, connection: Connection, count: int, *, woken: bool) -> int:
        """Claim; return how many jobs there were, of as many as there is room for.

        Where the bytes of its answer were used up there may be as many.
        """
        began, below_floor = monotonic(), False
        if not woken and self._floor_scan.is_quiet_at(began):
            found, below_floor = self._peek(connection, began)
            if not found:
                return 0
        self._report_busy()
        self._kind_reopened = False
        full_kinds = self._slots.exclude_full_kinds() + self._slots.unhandled.left_out()
        rows = attempt_store.claim(
            connection,
            self._request,
            limit=count,
            below_floor=below_floor,
            full_kinds=full_kinds,
        )
        is_all = len(rows) < count and not attempt_store.may_be_cut(rows)
        if full_kinds and is_all and began >= self._pass_over_due:
            # Slots stay free beside what it passed over.
            self._pass_over_due = began + _PASS_OVER_SECONDS
            attempt_store.pass_over(connection, self._request, full_kinds)
        now = monotonic()
        self._counters.observe(series.CLAIM_DURATION, now - began)
        if not rows:
            self._counters.count(series.CLAIM_EMPTY)
            return 0
        self._floor_scan = self._floor_scan.found(now)
        self._counters.observe(series.CLAIM_BATCH, len(rows))
        self._accept(connection, rows)
        return len(rows) if is_all else count

    def _peek(self, connection: Connection, now: float) -> tuple[bool, bool]:
        """Read, before a claim that follows a silence, whether there is anything to claim.

        A claim writes to PostgreSQL's log even when it finds nothing, so an idle fleet's claims
        would keep the disk busy. Below the floor it reads only in this worker's turn. Returns
        whether there is something, and whether to claim below the floor.
        """
        pool = self._request.pool
        peeked = attempt_store.claimable(connection, pool, below_floor=False)
        if not self._floor_scan.is_due_at(now):
            return peeked.found, False
        ours = peeked.turn_due and attempt_store.take_floor_scan_turn(connection, pool)
        self._floor_scan = self._floor_scan.asked(now, ours=ours)
        below = ours and attempt_store.claimable(connection, pool, below_floor=True).found
        return peeked.found or below, ours

    def _accept(self, connection: Connection, rows: list[Claimed]) -> None:
        orphans = self._intake.accept(connection, rows)
        if self._jobs_left is not None:
            self._jobs_left -= len(rows) - len(orphans)
        if orphans:
            attempt_store.release_orphans(connection, orphans)

    # --- rests ------------------------------------------------------------------------------

    def _rest_until_needed(self, notifications: Notifications) -> None:
        """Rest until few enough attempts are ready, or the wakeup.

        Notifications that arrive meanwhile are read although the next claim finds their jobs
        anyway: it may be hours away, and a server that cannot deliver them keeps its snapshot
        open until it can.
        """
        self._say_when_jobs_are_done()
        prefetch = min(self._rate.prefetch, self._bound or PREFETCH_MAX)
        self._slots.wake_claimer_at = max(0, prefetch - max(1, prefetch // 2))
        if self._claim_limit() == 0:
            select([self._wakeup], [], [], _FULL_REST_SECONDS)
        self._slots.wake_claimer_at = -1
        self._wakeup.clear()
        until = monotonic() + _DISCARD_SECONDS_MAX
        while notifications.take() and monotonic() < until:  # it returns a part at a time
            continue

    def _rest_until_woken(self, notifications: Notifications) -> None:
        """Rest until a NOTIFY for this worker, a request of the parent, or the end."""
        began, floor_scan = monotonic(), self._floor_scan
        quiet_seconds = began - floor_scan.found_at
        seconds = claim_rate.rest_seconds(
            quiet_seconds=quiet_seconds, listens=self._link.listens
        )
        until = began + seconds * random.uniform(0.75, 1.25)
        if floor_scan.is_urgent:
            until = min(until, floor_scan.next_at + random.uniform(0, _URGENT_JITTER_SECONDS))
        while not (self._woken or self._stop.is_set() or self._between_claims):
            if self._kind_reopened:
                return
            self._report_idle()
            left = until - monotonic()
            if left <= 0:
                return
            self._woken = self._is_woken(notifications.wait(self._wakeup, left))

    def _is_woken(self, payloads: Iterable[str]) -> bool:
        """Return whether a notification is for every worker or for this one."""
        me = str(self._request.worker_id)
        return any(not each or me in each.split(",") for each in payloads)

    def _say_when_jobs_are_done(self) -> None:
        if self._jobs_left == 0 and self._slots.is_empty and not self._jobs_done_said:
            self._jobs_done_said = True
            self._link.send(messages.JobsDone())

    def _report_idle(self) -> None:
        if not self._reported_idle and self._slots.is_empty and self._may_claim.is_set():
            self._reported_idle = True
            self._link.send(messages.Idle())

    def _report_busy(self) -> None:
        """Report a claim before its answer comes, which may be too large for this process."""
        if self._reported_idle:
            self._reported_idle = False
            self._link.send(messages.Busy())
