"""A process of a worker in simulated time: slots that share an event loop.

Slots, gates, the pace of claims, what is overdue or does not stop and the budget of stalls are
the product's own code. What runs is simulated: a handler keeps its slot, or the loop, for as
long as its job takes. One that does not stop gives its slot up, as in the product.

Left out: the database (a claim and an ending take no time), what a job costs beside its run,
and evictions: no attempt is asked to make room for another tenant.
"""

import os
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from fairlead.tasks import Handler
from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.child.claim_rate import JobRate, Room, bounded_limit
from fairlead_worker.child.deadline_watch import (
    READY_SECONDS_MAX,
    STOP_SECONDS,
    overdue,
    unstopped,
)
from fairlead_worker.child.slots import Slots
from fairlead_worker.child.stall_budget import STALL_SECONDS
from fairlead_worker.ipc.attempt_table import (
    ASKED,
    ASYNC,
    PROCESS,
    THREAD,
    AttemptTable,
    new_attempt_table,
    stand_ins_of,
)
from tests.support.attempts import Sink, claimed
from tests.support.simulated_jobs import (
    ENDS,
    GATES,
    MS,
    SECOND,
    STALLS,
    STAND_IN,
    TIMEOUT_SECONDS,
    Clock,
    JobRow,
    Kind,
    Queue,
)

DEATH_US = MS
"""How long a handler runs that ends its process."""
PROCESSORS = 2
_PASS_OVER_US = 200 * MS
_FLAGS = {"loop": ASYNC, "thread": THREAD, "process": PROCESS}


class Parent(Protocol):
    """What a process tells its parent, and what it knows from it."""

    def runs_alone(self, row: JobRow) -> bool:
        """Whether a job is to run in a process of its own."""
        ...

    def quarantine(self, process: "Process", attempt: Attempt) -> None:
        """Run an attempt alone, which lends its slot."""
        ...

    def ended(self, row: JobRow) -> None:
        """Note that an attempt has ended and left its process alive."""
        ...

    def stalls(self, kind: str, seconds: float) -> None:
        """Note that a kind keeps the loop, for so long by now."""
        ...

    def stalled(self, kind: str, seconds: float) -> None:
        """Note that a stall is over."""
        ...

    def died(self, process: "Process") -> None:
        """Note that a handler has ended the process."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all processes of a worker share."""

    clock: Clock
    queue: Queue
    parent: Parent
    kinds: Mapping[str, Kind]
    without: frozenset[str]
    """The defences that are left away."""
    rows: dict[int, JobRow]
    """What they have claimed."""


class Process:
    """A process that claims: its slots, its loop, and the pace of its claims."""

    def __init__(self, beside: Surroundings, concurrency: int) -> None:
        descriptor = new_attempt_table(concurrency)
        self.table = AttemptTable(descriptor, concurrency)
        os.close(descriptor)
        self.slots = Slots(concurrency, self.table, stand_ins=stand_ins_of(concurrency))
        self.is_alive = self.claims = True
        self._beside, self._sink = beside, Sink()
        self._clock, self._queue, self._parent = beside.clock, beside.queue, beside.parent
        self._rate, self._ended = JobRate(), 0
        self._stalled_until_us = self._stalled_from_us = self._stalled_us = 0
        self._blocker: Attempt | None = None
        self._pass_over_at_us = 0
        self._lines = dict[str, deque[Attempt]]()
        """What waits in its slot for the turn of its kind, where gates are left away."""

    @property
    def started(self) -> list[Attempt]:
        """What runs."""
        return [each for each in self.slots.running if each is not None]

    @property
    def unstarted(self) -> list[Attempt]:
        """What it holds that has not begun."""
        running = {each.token for each in self.started}
        return [each for token, each in self.slots.held.items() if token not in running]

    @property
    def _is_stalled(self) -> bool:
        return self._clock.now_us < self._stalled_until_us

    def serve(self) -> None:
        """Claim and begin what there is room for; a dead process does nothing."""
        self._fill()
        while self.is_alive and self._claim():
            self._fill()
            if not self.slots.free or self._is_stalled:
                return

    def look(self) -> None:
        """Do what is done again and again: watch the loop, or else the deadlines on it."""
        if self._is_stalled:
            self._watch_stall()
        if not self._is_stalled or self.slots.loop_stalled:
            self._return_late()
        if not self._is_stalled:
            self._watch_deadlines()

    def _watch_deadlines(self) -> None:
        """Stop what is overdue, and let others have the slots of what does not stop."""
        slots, now_us = self.slots, self._clock.now_us
        for attempt in overdue(slots.running, now_us):
            slots.stop(attempt, "timeout", ASKED, None)
            if not self._kind(attempt).never_stops:
                self._once_free(now_us, partial(self._end, attempt))
        if not self._has(STAND_IN):
            return
        for attempt in unstopped(slots.running, now_us - int(STOP_SECONDS * SECOND)):
            if slots.stand_in(attempt):
                self.serve()

    def return_unstarted(self) -> None:
        """Return whatever has not begun."""
        for attempt in self.unstarted:
            self.slots.drop([attempt])
            self._queue.returned(attempt.job_id)
        self.slots.take_unstarted()

    def _kind(self, attempt: Attempt) -> Kind:
        return self._beside.kinds[attempt.row.kind]

    def _has(self, defence: str) -> bool:
        return defence not in self._beside.without

    def _once_free(self, at_us: int, act: Callable[[], None]) -> None:
        """Let something happen once the loop is free, if the process lives."""

        def happen() -> None:
            if self.is_alive and self._is_stalled:
                self._once_free(self._stalled_until_us, act)
            elif self.is_alive:
                act()

        self._clock.at(at_us, happen)

    # --- claims -----------------------------------------------------------------------------

    def _fill(self) -> None:
        while self.is_alive and not self._is_stalled and self.slots.has_ready:
            slot = self.slots.acquire()
            attempt = None if slot is None else self.slots.next(slot)
            if attempt is None:
                return
            self._enter(attempt)

    def _claim(self) -> bool:
        """Claim as much as the pace of claims says; whether anything came."""
        slots, clock = self.slots, self._clock
        if not self.claims or slots.loop_stalled:
            return False
        self._rate = self._rate.after(self._ended, clock.now, full=slots.free == 0)
        room = Room(free=slots.free, ready=len(slots.ready), held=len(slots.held))
        limit = bounded_limit(room, self._rate.prefetch, None)
        if limit <= 0:
            return False
        full_kinds = slots.exclude_full_kinds()
        rows = self._queue.take(limit, full_kinds)
        if full_kinds and len(rows) < limit and clock.now_us >= self._pass_over_at_us:
            self._pass_over_at_us = clock.now_us + _PASS_OVER_US
            self._queue.pass_over(full_kinds)
        attempts = [self._attempt(row) for row in rows]
        slots.hold(attempts)
        slots.ready.extend(attempts)
        return bool(rows)

    def _attempt(self, row: JobRow) -> Attempt:
        rows = self._beside.rows
        rows[row.id] = row
        handler = bounded(self._beside.kinds[row.kind].handler)
        if not self._has(GATES):
            handler = replace(handler, concurrency=None)
        token = self._clock.now_us << 24 | row.id
        told = claimed(
            row.id, token, kind=row.kind, timeout_seconds=TIMEOUT_SECONDS, alone=row.alone
        )
        attempt = Attempt(told, handler, self._sink, self._clock.now_us)
        if self._parent.runs_alone(row):
            attempt.where = "quarantine"
        return attempt

    def _return_late(self) -> None:
        """Return what has been ready for too long."""
        ready = self.slots.ready
        until_us = self._clock.now_us - int(READY_SECONDS_MAX * SECOND)
        while ready and ready[0].arrived_us < until_us:
            attempt = ready.popleft()
            self.slots.drop([attempt])
            self._queue.returned(attempt.job_id)

    # --- handlers ---------------------------------------------------------------------------

    def _enter(self, attempt: Attempt) -> None:
        """Begin an attempt in the slot that it was given, or have it wait there."""
        if attempt.where == "quarantine":
            self.slots.lend_slot(attempt)
            self.slots.drop([attempt])
            self._parent.quarantine(self, attempt)
            return
        bound = bounded(self._kind(attempt).handler).concurrency
        if bound is not None and not self._has(GATES):
            line = self._lines.setdefault(attempt.row.kind, deque())
            line.append(attempt)
            if len(line) > bound:
                return
        self._begin(attempt)

    def _begin(self, attempt: Attempt) -> None:
        row, kind = self._beside.rows[attempt.job_id], self._kind(attempt)
        now_us = self._clock.now_us
        attempt.entered_us = attempt.started_us = now_us
        attempt.deadline_us = now_us + int(attempt.timeout_seconds * SECOND)
        attempt.stalled_us = -self._stalled_us
        self.slots.record_start(attempt, _FLAGS[attempt.where])
        self._queue.began(row.id)
        if kind.completes_early and not self._has(ENDS):
            self._queue.completed(row.id, MS)
        if kind.ends_process:
            self._once_free(now_us + DEATH_US, lambda: self._parent.died(self))
            return
        if kind.keeps_loop and attempt.where == "loop":
            self._blocker, self._stalled_from_us = attempt, now_us
            self._stalled_until_us = now_us + row.cost_us
        self._once_free(now_us + row.cost_us, lambda: self._end(attempt))

    def _end(self, attempt: Attempt) -> None:
        """End an attempt; the next one has its slot."""
        if attempt.ended_us:
            return
        slots = self.slots
        attempt.ended_us = max(self._clock.now_us, attempt.entered_us + 1)
        is_blocker = attempt is self._blocker
        if is_blocker:
            self._conclude_stall(attempt)
        stalled_us = attempt.stalled_us + self._stalled_us if attempt.where == "loop" else 0
        slots.record_end(attempt)
        slots.drop([attempt])
        self._ended += 1
        self._parent.ended(self._beside.rows[attempt.job_id])
        self._queue.finished(attempt.job_id, max(1, attempt.held_us - stalled_us))
        self._open_line(attempt)
        if is_blocker:  # what waited for the loop goes before other jobs begin
            slots.free_slot(attempt)
            self._clock.at(self._clock.now_us, self.serve)
            return
        following = slots.next(attempt.slot)
        if following is not None:
            self._enter(following)
        self.serve()

    def _open_line(self, attempt: Attempt) -> None:
        """Begin what waits in its slot for the turn of its kind, where gates are left away."""
        line = self._lines.get(attempt.row.kind)
        bound = bounded(self._kind(attempt).handler).concurrency
        if line and bound is not None:
            line.remove(attempt)
            if len(line) >= bound:
                self._begin(line[bound - 1])

    # --- stalls -----------------------------------------------------------------------------

    def _watch_stall(self) -> None:
        """Do what the product's watch of the loop does during a stall."""
        seconds = (self._clock.now_us - self._stalled_from_us) / SECOND
        if self._blocker is not None and seconds >= STALL_SECONDS and self._has(STALLS):
            self.slots.loop_stalled = True
            self._parent.stalls(self._blocker.row.kind, seconds)

    def _conclude_stall(self, attempt: Attempt) -> None:
        lasted_us = self._clock.now_us - self._stalled_from_us
        self._blocker = None
        if self._has(STALLS):
            self._stalled_us += lasted_us
            attempt.stalled_us -= lasted_us
            self.slots.loop_stalled = False
            if lasted_us >= STALL_SECONDS * SECOND:
                self._parent.stalled(attempt.row.kind, lasted_us / SECOND)


def bounded(handler: Handler) -> Handler:
    """Bound handlers that take a process each by the processors, unless they set a bound."""
    if handler.runs_on != "process" or handler.concurrency is not None:
        return handler
    return replace(handler, concurrency=PROCESSORS)
