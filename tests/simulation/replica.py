"""A scheduler in simulated time: it stands by, takes over, leads, and loses its lease.

What it does is the product's own: its lease, its take-over, its loop, its sweeps, its scans and
its watch over the policy. This module stands in for the threads of `term` and for the replica
around it, one event after the other.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from random import Random
from typing import cast
from unittest.mock import patch

import psycopg

from fairlead.db.connect import Connection
from fairlead.runtime.wakeup import Wakeup
from fairlead_scheduler.background.long_reads import LongReads
from fairlead_scheduler.background.policy_watch import PolicyWatch, WatchResult, read_newer
from fairlead_scheduler.background.sweeps import Sweeps
from fairlead_scheduler.leadership.election import LeaderLease, acquire
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.loop.loop import Loop
from fairlead_scheduler.loop.requests import Requests
from fairlead_scheduler.loop.state import LeaderState
from fairlead_scheduler.loop.store import LoopStore, renumber
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.rows import Event
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.term import read_initial_state
from tests.simulation.session import Killed, Process, Session, Troubles
from tests.simulation.statements import Statements
from tests.support.simulated_jobs import MS, SECOND, Clock

SETTINGS = SchedulerSettings(
    database_url="postgresql://nowhere/none",
    lease_seconds=2.0,
    renew_seconds=0.5,
    margin_seconds=0.3,
    scan_seconds=2.0,
    audit_seconds=3.0,
    worker_lease_seconds=3.0,
)
"""Leases and scans are short, so that a short history has many of them."""
_STANDBY_US = 500 * MS
_MODULES = (
    "loop.loop",
    "leadership.election",
    "background.policy_watch",
    "background.long_reads",
)
_TASKS = frozenset(("recall", "promote", "mark_dead", "steal", "audit", "scan_lanes", "policy"))


class _Wake(Wakeup):
    """Ends the loop's rest, by an event."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act

    def wake(self) -> None:
        """Wake the loop."""
        self._act()


@contextmanager
def on_clock(clock: Clock) -> Generator[None]:
    """Let the scheduler's modules read this clock as their monotonic one."""
    paths = [f"fairlead_scheduler.{name}.monotonic" for name in _MODULES]
    patches = [patch(path, lambda: clock.now) for path in paths]
    patches.append(patch("fairlead_scheduler.loop.loop.thread_time", lambda: 0.0))
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in reversed(patches):
            each.stop()


@dataclass(slots=True)
class Thread:
    """A background thread: its tasks, and when each is due."""

    tasks: dict[str, PeriodicTask]
    due: dict[str, float]
    at_us: int = 0
    """When it next looks."""
    busy: bool = False


@dataclass(eq=False, slots=True)
class TermRun:
    """One term of a replica."""

    lease: LeaderLease
    state: LeaderState
    loop: Loop
    threads: list[Thread] = field(default_factory=list[Thread])
    wake_us: int = 0
    """When the loop's rest ends."""
    stepping: bool = False
    woken: set[str] = field(default_factory=set[str])
    steps: int = 0


class Replica:
    """One scheduler process after the other, under one name.

    Args:
        clock: Simulated time.
        statements: The database.
        dice: What happens to its sessions.
        troubles: How often that is.
        name: The holder's name begins with it.
    """

    def __init__(
        self,
        clock: Clock,
        statements: Statements,
        *,
        dice: Random,
        troubles: Troubles,
        name: str,
    ) -> None:
        self._clock, self._statements, self._dice = clock, statements, dice
        self._name, self._started = name, 0
        self._metrics = Metrics()
        self.troubles = troubles
        self.disturbed: Callable[[], None] = lambda: None
        self.term: TermRun | None = None
        self.terms: dict[int, TermRun] = {}
        """All terms that began, by their epochs."""
        self.process = self._start()

    @property
    def leads(self) -> bool:
        """Whether it leads, by what it knows."""
        return self.term is not None and not self.term.lease.over.is_set()

    def _start(self) -> Process:
        self._started += 1
        process = Process(self._clock, self._dice, self.troubles)
        process.disturbed = self._disturbed
        self._later(self._dice.randrange(_STANDBY_US), process, self._stand_by)
        return process

    def _disturbed(self) -> None:
        self.disturbed()

    def kill(self) -> None:
        """Let the process die at once, and another one start in its place."""
        self.disturbed()
        self.process.is_alive = False
        self.term = None
        self.process = self._start()

    def freeze(self, us: int) -> None:
        """Let the process stand still from now on, for so long."""
        self.disturbed()
        process = self.process
        process.frozen_until_us = max(process.frozen_until_us, self._clock.now_us + us)

    def notified(self, channel: str, payload: str) -> None:
        """Take in a notification."""
        term = self.term
        if term is not None and channel == "fairlead_scheduler":
            term.woken.add(payload)
            self._wake(term)

    def _later(self, us: int, process: Process, act: Callable[[], None]) -> None:
        """Let this process do something after so long, once it is not frozen."""

        def happen() -> None:
            if not process.is_alive:
                return
            if self._clock.now_us < process.frozen_until_us:
                self._clock.at(process.frozen_until_us, happen)
                return
            try:
                act()
            except Killed:
                return

        self._clock.at(self._clock.now_us + us, happen)

    def _session(self) -> Connection:
        return cast("Connection", Session(self.process, self._statements))

    # --- standing by, and taking over -------------------------------------------------------

    def _stand_by(self) -> None:
        process = self.process
        holder = f"{self._name}{self._started}"
        rest_us = self._dice.randrange(_STANDBY_US)
        try:
            lease = acquire(self._session(), SETTINGS, holder=holder)
            if lease is not None:
                self._take_over(lease)
                return
            rest_us = _STANDBY_US
        except psycopg.Error:
            pass
        self._later(rest_us, process, self._stand_by)

    def _take_over(self, lease: LeaderLease) -> None:
        """Read what a leader must know, and begin, as `Term.serve` does."""
        self.disturbed()
        self._renew_later(lease)
        try:
            renumber(self._session(), epoch=lease.epoch)
            initial = read_newer(self._session())
            state = read_initial_state(self._session(), SETTINGS, initial.table)
        except psycopg.Error:
            lease.end("lost")
            lease.release()
            self._later(self._dice.randrange(_STANDBY_US), self.process, self._stand_by)
            return
        self.term = self.terms[lease.epoch] = self._begun(lease, initial, state)
        self.disturbed()
        self._wake(self.term)

    def _begun(self, lease: LeaderLease, initial: WatchResult, state: LeaderState) -> TermRun:
        events: SimpleQueue[Event] = SimpleQueue()
        run: list[TermRun] = []
        wakeup = _Wake(lambda: self._wake(run[0]) if run else None)
        requests = Requests(lambda task: self._call(run[0], task) if run else None)
        loop = Loop(
            LoopStore(self._session(), SETTINGS, epoch=lease.epoch),
            lease,
            SETTINGS,
            state=state,
            requests=requests,
            events=events,
            metrics=self._metrics,
        )
        run.append(TermRun(lease, state, loop))
        watch = PolicyWatch(
            self._session(),
            epoch=lease.epoch,
            initial=initial,
            disabled=requests.disabled,
            events=events,
            wakeup=wakeup,
            metrics=self._metrics,
            apply_backlog_limits=lambda _: None,
        )
        sweeps = Sweeps(
            self._session(),
            SETTINGS,
            epoch=lease.epoch,
            requests=requests,
            events=events,
            wakeup=wakeup,
            metrics=self._metrics,
        )
        reads = LongReads(
            self._session(), SETTINGS, events=events, wakeup=wakeup, metrics=self._metrics
        )
        for tasks in ((*watch.tasks(), *sweeps.tasks()), reads.tasks()):
            self._begin_thread(run[0], tasks)
        return run[0]

    # --- threads ----------------------------------------------------------------------------

    def _renew_later(self, lease: LeaderLease) -> None:
        def renew() -> None:
            if not lease.over.is_set():
                lease.renew()
                self._renew_later(lease)

        self._later(int(SETTINGS.renew_seconds * SECOND), self.process, renew)

    def _begin_thread(self, term: TermRun, tasks: tuple[PeriodicTask, ...]) -> None:
        mine = {task.name: task for task in tasks if task.name in _TASKS}
        now = self._clock.now
        due = {x.name: now if x.at_once else now + x.every_seconds for x in mine.values()}
        thread = Thread(mine, due)
        term.threads.append(thread)
        self._look_later(term, thread)

    def _call(self, term: TermRun, task: str) -> None:
        for thread in term.threads:
            if task in thread.tasks:
                thread.due[task] = 0.0
                self._look_later(term, thread)

    def _look_later(self, term: TermRun, thread: Thread) -> None:
        """Let a thread look when its next task is due."""
        due = max(self._clock.now, min(thread.due.values()))
        thread.at_us = at_us = (
            self._clock.now_us + int(min(60.0, due - self._clock.now) * 1e6) + 1
        )
        look = partial(self._look, term, thread, at_us)
        self._later(at_us - self._clock.now_us, self.process, look)

    def _look(self, term: TermRun, thread: Thread, at_us: int) -> None:
        """Do what is due; a lost session ends the term."""
        if thread.at_us != at_us or thread.busy:
            return
        if not term.lease.is_trusted:
            term.lease.end("a thread stopped")
            self._wake(term)
            return
        thread.busy = True
        try:
            for name, task in thread.tasks.items():
                if term.lease.is_trusted and self._clock.now >= thread.due[name]:
                    thread.due[name] = float("inf")
                    more = task.do()
                    every = task.rest(task.every_seconds) if task.rest else task.every_seconds
                    rest = self._clock.now + (0.001 if more else every)
                    thread.due[name] = min(thread.due[name], rest)
        except psycopg.Error:
            term.lease.end("the session of a thread was lost")
            self._wake(term)
            return
        finally:
            thread.busy = False
        self._look_later(term, thread)

    # --- the loop ---------------------------------------------------------------------------

    def _wake(self, term: TermRun) -> None:
        """Let the loop step now, or again once it has stepped."""
        term.wake_us = self._clock.now_us
        if not term.stepping:
            self._later(0, self.process, partial(self._step, term, self._clock.now_us))

    def _step(self, term: TermRun, at_us: int) -> None:
        if self.term is not term or term.stepping or term.wake_us != at_us:
            return
        term.stepping = True
        began_us, term.wake_us = self._clock.now_us, -1
        try:
            if term.woken:
                woken, term.woken = term.woken, set()
                term.loop.notified(woken)
            rest_us = int(term.loop.step().total_seconds() * 1e6)
            term.steps += 1
        except psycopg.Error:
            term.lease.end("the session of the loop was lost")
            rest_us = 0
        finally:
            term.stepping = False
        if term.lease.over.is_set():
            self._leave(term)
            return
        # Each tick takes some time of the processor.
        rest_us = max(rest_us, began_us + MS - self._clock.now_us, 100)
        if term.wake_us >= 0:
            rest_us = 100
        term.wake_us = self._clock.now_us + rest_us
        self._later(rest_us, self.process, partial(self._step, term, term.wake_us))

    def _leave(self, term: TermRun) -> None:
        """Release the lease and stand by."""
        self.disturbed()
        self.term = None
        term.lease.release()
        self._later(self._dice.randrange(_STANDBY_US), self.process, self._stand_by)
