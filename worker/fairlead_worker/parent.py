"""The parent: keeps the lease, starts and watches the children, and cleans up after them.

It runs none of the application's code, so nothing that a handler does can keep it from renewing
the lease, from telling a handler that it is cancelled, or from killing what does not stop.
"""

import signal
import sys
import threading
from contextlib import ExitStack
from datetime import datetime
from os import getpid
from secrets import token_hex
from select import select
from socket import gethostname
from time import monotonic

from fairlead import log, service
from fairlead.bell import Bell
from fairlead.health import CannotListen, Health
from fairlead_worker import drain, wire
from fairlead_worker.children import Child
from fairlead_worker.crew import Crew, Hopeless
from fairlead_worker.drain import Stage
from fairlead_worker.enlist import Enlistment
from fairlead_worker.exposition import Exposition
from fairlead_worker.handback import HandBacks
from fairlead_worker.keep import Keep
from fairlead_worker.lease import Dead, Held, LeaseThread, Unusable
from fairlead_worker.ledger import CANCELLED, Entry
from fairlead_worker.ledger_view import (
    Died,
    Fenced,
    Overran,
    Stopped,
    endings,
    how_it_died,
    overrunners,
)
from fairlead_worker.orders import Orders
from fairlead_worker.rollcall import RollCall
from fairlead_worker.solo import Room, Solo
from fairlead_worker.vigil import Vigil

_CALM_SECONDS, _BRISK_SECONDS = 0.5, 0.05
_TELL_SECONDS = 1.0
_LOST_SECONDS_MAX = 1.0
_STOPPED = Stopped("its worker was stopped before it was done")


class Parent:
    """One worker, from its start to its end.

    Args:
        orders: the checked settings.
    """

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._name = orders.worker_name or orders.pod_name or _chance_name()
        self._bell = Bell()
        self._stop, self._again = threading.Event(), threading.Event()
        self._stage, self._stage_since = Stage.SERVING, monotonic()
        self._exit_code = 0
        self._log = log.get("worker")
        self._crew = Crew(orders)
        self._lease = LeaseThread(
            orders, name=self._name, running=self._running, news=self._bell
        )
        self._handbacks = HandBacks(self._lease)
        self._enlistment = Enlistment(orders, self._name, self._lease, self._handbacks.note)
        slots = orders.concurrency * orders.processes
        lone = min(orders.lone_processes, slots)
        self._solo = Solo(self._start_alone, Room(processes=lone, places=slots))
        self._tell_at = 0.0
        self._keep = Keep(orders, self._lease, self._solo.waiting)
        self._rollcall = RollCall(self._lease, self._claiming, self._orphaned)
        self._vigil = Vigil(self._lease)
        self._exposition = Exposition(orders, self._lease, self._handbacks, self._entries)
        self._limits = drain.Limits(grace_seconds=orders.grace_seconds)

    def run(self) -> int:
        """Serve until asked to stop; answer the exit code."""
        with ExitStack() as stack:
            if self._orders.health_port is not None:
                stack.enter_context(
                    Health(
                        ready=self._ready,
                        registry=self._exposition.registry,
                        port=self._orders.health_port,
                        host=self._orders.health_host,
                    )
                )
            stack.enter_context(service.stopping(stop=self._stop, again=self._again))
            signal.set_wakeup_fd(self._bell.signal_descriptor(), warn_on_full_buffer=False)
            stack.callback(signal.set_wakeup_fd, -1)
            self._lease.start()
            stack.callback(self._lease.stop)
            while self._stage < Stage.GONE:
                self._cycle()
        self._log.info("worker.stopped", exit_code=self._exit_code)
        return self._exit_code

    def _cycle(self) -> None:
        """Fence, end what overran, clean up, take the next step, fill up, and hear the news."""
        now = monotonic()
        self._heed_lease(now)
        self._end_overrunners(now)
        self._bury_dead(now)
        self._handbacks.advance(now)
        self._take_next_step(now)
        self._fill_up(now)
        self._tell_slotless(now)
        self._hear(_BRISK_SECONDS if self._brisk() else _CALM_SECONDS)

    # --- hear -------------------------------------------------------------------------------

    def _hear(self, seconds: float) -> None:
        there = [child for child in self._everybody() if not child.hung_up]
        sockets = {child.fileno(): child for child in there}
        ours = self._bell.fileno()
        takes = [child.fileno() for child in there if child.unsent]
        speaking, taking, _ = select([ours, *sockets], takes, [], seconds)
        self._bell.hush()
        for each in taking:
            sockets[each].flush()
        for each in speaking:
            if each != ours:
                self._listen_to(sockets[each])
        while self._lease.replies:
            self._lease.replies.popleft()()

    def _listen_to(self, child: Child) -> None:
        for message in child.heard():
            match message:
                case wire.Growth():
                    self._exposition.hear(message, child.pid)
                case wire.Alone():
                    self._solo.take(message, child)
                case wire.Ended():
                    self._solo.ended(message, monotonic())
                case wire.Declined():
                    self._solo.declined(message, monotonic())
                case wire.Holds():
                    self._rollcall.answered(message, child)
                case wire.Unsure():
                    self._rollcall.plan(monotonic())
                case _:
                    self._note_state(child, message)

    def _note_state(self, child: Child, message: wire.State) -> None:
        match message:
            case wire.Ready() if child in self._solo.children:
                child.ready = True
            case wire.Ready():
                self._crew.ready(child, message)
            case wire.Idle():
                child.idle = True
            case wire.Busy():
                child.idle = False
            case wire.Draining():
                self._log.debug("child.draining", pid=child.pid)
            case wire.Drained():
                child.cause = child.cause or _STOPPED

    # --- the lease --------------------------------------------------------------------------

    def _heed_lease(self, now: float) -> None:
        self._lease.watch(now)
        standing, mine = self._lease.standing, self._enlistment.worker_id
        if isinstance(standing, Unusable):
            self._give_up(Hopeless(standing.exit_code, standing.sentence))
        if mine is None:
            return
        if isinstance(standing, Dead) and standing.worker_id == mine:
            self._fence("its row was marked dead")
        elif isinstance(standing, Held) and now >= standing.trusted_until:
            self._fence("it could not be renewed in time")
        else:
            self._pass_cancellations_on(self._lease.cancelled)
            self._handbacks.give(self._solo.withdraw(self._lease.cancelled))

    def _fence(self, why: str) -> None:
        """End every handler: another worker may run their jobs from now on."""
        self._log.error("lease.lost", worker=self._enlistment.worker_id, why=why)
        self._exposition.lease_expirations += 1
        self._enlistment.lost()
        moment = min(_LOST_SECONDS_MAX, self._orders.worker_margin_seconds / 2)
        for child in self._everybody():
            child.say(wire.Lost())
            child.end(Fenced(), within_seconds=moment)
        self._solo.give_up()
        self._handbacks.forget()
        self._rollcall.cancel()

    def _pass_cancellations_on(self, cancelled: frozenset[int]) -> None:
        for child in self._everybody() if cancelled else ():
            jobs = tuple(
                (entry.job_id, entry.token)
                for entry in child.running()
                if entry.token in cancelled and not entry.flags & CANCELLED
            )
            if jobs:
                child.say(wire.Cancel(jobs))

    # --- deadlines --------------------------------------------------------------------------

    def _end_overrunners(self, now: float) -> None:
        grace_seconds = self._orders.overrun_grace_seconds
        for child in self._everybody():
            over = overrunners(
                child.running(), now_us=int(now * 1e6), grace_us=int(grace_seconds * 1e6)
            )
            if over and child.cause is None:
                tokens = frozenset(entry.token for entry in over)
                jobs = [entry.job_id for entry in over]
                self._log.warning("child.overran", pid=child.pid, jobs=jobs)
                child.end(Overran(tokens, grace_seconds))

    # --- the dead ---------------------------------------------------------------------------

    def _bury_dead(self, now: float) -> None:
        for child in self._everybody():
            child.kill_if_due(now)
            code = child.exit_code()
            if code is not None:
                self._listen_to(child)
                self._bury(child, code, now)

    def _bury(self, child: Child, code: int, now: float) -> None:
        cause, started = child.how_it_ended(), child.running()
        self._handbacks.begun(self._exposition.bury(child.pid, started))
        if child in self._solo.children:
            self._handbacks.give(self._solo.bury(child, started, cause))
        else:
            self._solo.bereave(child)
            self._handbacks.give(endings(started, cause))
            self._give_up(self._crew.remove(child, code))
        if isinstance(cause, Died | Overran):
            self._exposition.child_deaths += 1
            how = how_it_died(code)
            self._log.error("child.died", pid=child.pid, how=how, started=len(started))
            self._rollcall.plan(now)
        self._rollcall.died(child)
        child.close()

    def _give_up(self, hopeless: Hopeless | None) -> None:
        """Stop at once, because no child can ever work, and say why."""
        if hopeless is None or self._exit_code:
            return
        if hopeless.sentence is not None:
            sys.stderr.write(f"fairlead: {hopeless.sentence}\n")
        self._exit_code = hopeless.exit_code
        self._stop.set()
        self._again.set()

    def _orphaned(self, claimed_until: datetime, held: frozenset[int]) -> None:
        """Return what the roll call found to be ours and held by nobody."""
        if self._enlistment.worker_id is not None:
            self._handbacks.give_unheld(
                self._enlistment.worker_id, claimed_until, held | self._solo.tokens
            )

    # --- children ---------------------------------------------------------------------------

    def _fill_up(self, now: float) -> None:
        """Have children, then, when one is ready, a row, and then let them claim."""
        serving = self._stage == Stage.SERVING
        self._lease.offer(max(1, self._crew.slots) if serving else 1)
        if not serving:
            self._handbacks.give(self._solo.give_up())
            return
        if not self._everybody():
            self._enlistment.prepare()
        if self._enlistment.prepares:  # an application that cannot be loaded waits for nothing
            self._crew.fill(now)
        if self._enlistment.prepared:
            self._serve(now)

    def _serve(self, now: float) -> None:
        worker_id = self._enlistment.worker_id
        if worker_id is not None:
            self._crew.go(worker_id)
            self._solo.next(now, untouchable=self._keep.under_way)
            self._keep.advance(now)
            self._rollcall.advance(now)
        elif self._crew.slots:
            self._enlistment.enlist()

    def _tell_slotless(self, now: float) -> None:
        """Have the row say at once that more is held without slots, and later that less is.

        With short jobs this changes all the time, and each change is a renewal.
        """
        slotless = self._solo.slotless
        if slotless > self._lease.beside or now >= self._tell_at:
            self._tell_at = now + _TELL_SECONDS
            self._lease.add(slotless)

    def _start_alone(self) -> Child:
        child = Child(self._orders, alone=True)
        self._log.info("child.started", pid=child.pid, alone=True)
        return child

    # --- the next step of a stop ------------------------------------------------------------

    def _take_next_step(self, now: float) -> None:
        if self._orders.until_empty and self._vigil.over(now, idle=self._idle()):
            self._log.info("worker.all_done")
            self._stop.set()
        seen = drain.Seen(
            asked=self._stop.is_set(),
            asked_again=self._again.is_set(),
            children=len(self._everybody()),
            left=self._enlistment.left,
            here_seconds=now - self._stage_since,
        )
        stage = drain.next_stage(self._stage, seen, self._limits)
        if stage != self._stage:
            self._stage, self._stage_since = stage, now
            self._enter(stage)

    def _enter(self, stage: Stage) -> None:
        self._log.info(f"worker.{stage.name.lower()}")
        match stage:
            case Stage.DRAINING:
                self._exposition.draining_since = monotonic()
                for child in self._everybody():
                    child.say(wire.Drain())
                    if not child.ready:  # it holds nothing, and hears nothing yet
                        child.end(_STOPPED)
            case Stage.RELEASING:
                for child in self._everybody():
                    child.say(wire.Release())
                    child.cause = child.cause or _STOPPED
            case Stage.KILLING:
                for child in self._everybody():
                    child.end(_STOPPED)
            case Stage.LEAVING:
                self._enlistment.leave()
            case _:
                return

    # --- what is asked about it -------------------------------------------------------------

    def _everybody(self) -> tuple[Child, ...]:
        return (*self._crew.children, *self._solo.children)

    def _claiming(self) -> tuple[Child, ...]:
        return tuple(child for child in self._crew.children if child.ready)

    def _running(self) -> tuple[tuple[int, int], ...]:
        """Return what runs, and what waits to run alone: both may be cancelled."""
        running = tuple((entry.job_id, entry.token) for entry in self._entries())
        return running + self._solo.waiting()

    def _entries(self) -> tuple[Entry, ...]:
        return tuple(entry for child in self._everybody() for entry in child.running())

    def _ready(self) -> bool:
        return self._crew.served and self._stage == Stage.SERVING

    def _idle(self) -> bool:
        alone = self._solo.tokens
        return self._crew.idle and not alone and not self._handbacks.pending

    def _brisk(self) -> bool:
        """Whether a moment that is due soon must not be missed by much."""
        ending = any(child.kill_at is not None for child in self._everybody())
        return ending or self._stage > Stage.SERVING


def run(orders: Orders) -> int:
    """Be a worker's parent until it is asked to stop; answer the exit code."""
    log.configure(orders.log_format, orders.log_level)
    try:
        return Parent(orders).run()
    except CannotListen as refused:
        sys.stderr.write(f"fairlead: {refused}\n")
        return 2


def _chance_name() -> str:
    return f"{gethostname()}-{getpid()}-{token_hex(3)}"
