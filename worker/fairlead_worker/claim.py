"""The claimer: takes jobs from the queue while there is room, in a thread of its own.

It claims again at once after a full batch, and rests otherwise: until a slot is free, until a
NOTIFY for this worker, or for a while that grows with the silence. Polling is the truth, and a
NOTIFY only shortens a rest.
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

from fairlead import log
from fairlead.bell import Bell
from fairlead.job import Claimed
from fairlead.notices import Notices
from fairlead.reminder import Reminder
from fairlead.store import Connection
from fairlead_worker import child_store, pace, series, wire
from fairlead_worker.child_store import Claiming
from fairlead_worker.connecting import sessions, tell_waiting
from fairlead_worker.intake import Intake
from fairlead_worker.pace import Pace
from fairlead_worker.slots import Slots
from fairlead_worker.tally import Tally
from fairlead_worker.turns import Turns

_LISTEN = b"listen fairlead_work"
_ROOM_SECONDS = 1.0
_HUNT_JITTER_SECONDS = 0.25
_HELD_MAX = 5000
_AGAIN_SECONDS = 0.5
_NOBODY = 0  # until there is an id, nothing is claimed


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """How the claimer reaches the database and the parent."""

    open_one: Callable[[], Connection]
    listens: bool
    say: Callable[[wire.ToParent], None]


class Claimer:
    """Claims for one child.

    Args:
        line: the database and the parent.
        pool: from which one to claim.
        slots: what is held already.
        intake: where claimed jobs go.
        ended: how many have ended so far.
        tally: where claims are counted.
        reached: called once, when the database was reached for the first time.
        stopped: called when it has stopped and will claim nothing more.
    """

    def __init__(
        self,
        line: Line,
        pool: str,
        *,
        slots: Slots,
        intake: Intake,
        ended: Callable[[], int],
        tally: Tally,
        reached: Callable[[], None],
        stopped: Callable[[], None],
    ) -> None:
        self._line, self._who = line, Claiming(_NOBODY, pool)
        self._slots, self._intake = slots, intake
        self._ended, self._tally = ended, tally
        self._reached, self._stopped = reached, stopped
        self._bell = Bell()
        self._going, self._stop = threading.Event(), threading.Event()
        self._asked: deque[Callable[[], None]] = deque()
        self._pace = Pace(at=monotonic())
        self._turns = Turns()
        self._called = self._said_idle = False
        self._log, self._reminder = log.get("worker.claim"), Reminder()
        self._waits = tell_waiting(self._log, self._reminder)
        slots.wake_claimer = self._wake

    # --- called by other threads ------------------------------------------------------------

    def go(self, worker_id: int) -> None:
        """Begin to claim, under this id."""
        self._who = replace(self._who, worker_id=worker_id)
        self._going.set()
        self._bell.ring()

    def stop(self) -> None:
        """Claim nothing more."""
        self._stop.set()
        self._bell.ring()

    def roll(self, number: int) -> None:
        """Have the roll answered between two claims."""
        self._ask(partial(self._answer, number))

    def rest(self, rests: Callable[[], None]) -> None:
        """Claim nothing until the next `go`; call back once no claim is under way."""
        self._going.clear()
        self._ask(rests)

    def _ask(self, between_claims: Callable[[], None]) -> None:
        self._asked.append(between_claims)
        self._bell.ring()

    def look(self) -> None:
        """Look again at what there is room for, and whether nothing is held."""
        self._bell.ring()

    def _wake(self) -> None:
        self._slots.wake_claimer_at = -1
        self._bell.ring()

    # --- the thread -------------------------------------------------------------------------

    def run(self) -> None:
        """Claim until told to stop."""
        for connection in sessions(self._line.open_one, self._stop, self._waits):
            self._serve(connection)
        self._stopped()

    def _serve(self, connection: Connection) -> None:
        """Claim on one connection until it is lost."""
        try:
            notices = Notices(connection)
            if self._line.listens:
                connection.execute(_LISTEN)
            self._reached()
            while not self._stop.is_set():
                self._step(connection, notices)
        except psycopg.Error as error:
            if self._reminder.due(type(error).__name__, monotonic()):
                self._log.warning("claims.interrupted", why=" ".join(str(error).split()))
            # The answer to a claim may have been lost: then its jobs are ours and nobody has
            # them.
            self._line.say(wire.Unsure())
            self._stop.wait(random.uniform(0, _AGAIN_SECONDS))

    def _step(self, connection: Connection, notices: Notices) -> None:
        """Do what was asked, then claim what there is room for, then rest if that is due."""
        while self._asked:
            self._asked.popleft()()
        count = self._wanted()
        if count == 0:
            self._rest_for_room(notices)
            return
        called, self._called = self._called, False
        # Whoever calls has put something above the floor; looking below it can wait.
        found = self._claim(connection, count, called=called)
        if called and found == 0:
            self._turns = self._turns.missed(monotonic())  # it may be below the floor
        if found < count and not self._turns.hunts_at(monotonic()):
            self._rest_for_news(notices)

    def _answer(self, number: int) -> None:
        self._line.say(wire.Holds(number, tuple(self._slots.held)))

    def _wanted(self) -> int:
        slots = self._slots
        if slots.hindered or not self._going.is_set() or len(slots.held) > _HELD_MAX:
            return 0
        self._pace = self._pace.after(self._ended(), monotonic())
        return pace.wanted(
            free=self._slots.free, ready=len(self._slots.ready), ahead=self._pace.ahead
        )

    def _claim(self, connection: Connection, count: int, *, called: bool) -> int:
        began, below_floor = monotonic(), False
        if not called and self._turns.quiet_at(began):
            found, below_floor = self._look(connection, began)
            if not found:
                return 0
        rows = child_store.claim(connection, self._who, limit=count, below_floor=below_floor)
        now = monotonic()
        self._tally.observe(series.CLAIM_DURATION, now - began)
        if not rows:
            self._tally.count(series.CLAIM_EMPTY)
            return 0
        self._turns = self._turns.found(now)
        self._tally.observe(series.CLAIM_BATCH, len(rows))
        self._accept(connection, rows)
        return len(rows)

    def _look(self, connection: Connection, now: float) -> tuple[bool, bool]:
        """Look before a claim that comes after a silence, below the floor when it is our turn.

        An idle fleet's claims would keep PostgreSQL's disk busy for nothing. Answers whether
        there is something, and whether to claim below the floor.
        """
        pool = self._who.pool
        seen = child_store.look(connection, pool, below_floor=False)
        if not self._turns.due_at(now):
            return seen.found, False
        ours = seen.turn_due and child_store.take_turn(connection, pool)
        self._turns = self._turns.asked(now, ours=ours)
        below = ours and child_store.look(connection, pool, below_floor=True).found
        return seen.found or below, ours

    def _accept(self, connection: Connection, rows: list[Claimed]) -> None:
        if self._said_idle:
            self._said_idle = False
            self._line.say(wire.Busy())
        orphans = self._intake.accept(connection, rows)
        if orphans:
            child_store.drop_orphans(connection, orphans)

    # --- rests ------------------------------------------------------------------------------

    def _rest_for_room(self, notices: Notices) -> None:
        """Rest until the ready attempts are few enough, or the bell rings.

        What was told meanwhile is read, though the next claim sees what it was about: that may
        be in hours, and a server that is not heard out keeps its snapshot open until it is.
        """
        ahead = self._pace.ahead
        self._slots.wake_claimer_at = max(0, ahead - max(1, ahead // 2))
        if self._wanted() == 0:
            select([self._bell], [], [], _ROOM_SECONDS)
        self._slots.wake_claimer_at = -1
        self._bell.hush()
        while notices.take():  # a part at a time
            continue

    def _rest_for_news(self, notices: Notices) -> None:
        """Rest until somebody calls this worker, a roll is called, or the rest is over."""
        began, turns = monotonic(), self._turns
        quiet_seconds = began - turns.found_at
        seconds = pace.rest_seconds(quiet_seconds=quiet_seconds, listens=self._line.listens)
        until = began + seconds * random.uniform(0.75, 1.25)
        if turns.hunts:
            until = min(until, turns.next_at + random.uniform(0, _HUNT_JITTER_SECONDS))
        while not (self._called or self._stop.is_set() or self._asked):
            self._tell_idle()
            left = until - monotonic()
            if left <= 0:
                return
            self._called = self._is_called(notices.wait(self._bell, left))

    def _is_called(self, told: Iterable[str]) -> bool:
        """Tell whether a notification is for everybody or for this worker."""
        me = str(self._who.worker_id)
        return any(not each or me in each.split(",") for each in told)

    def _tell_idle(self) -> None:
        if not self._said_idle and self._slots.empty and self._going.is_set():
            self._said_idle = True
            self._line.say(wire.Idle())
