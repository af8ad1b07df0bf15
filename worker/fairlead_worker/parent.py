"""The parent: keeps the lease, starts and watches the children, and cleans up after them.

It runs none of the application's code, so nothing that a handler does can keep it from renewing
the lease, from telling a handler that it is cancelled, or from killing what does not stop.

One loop does it all, a cycle at a time: `_cycle` lists what. Only the lease has a thread of its
own, since the database may keep its caller waiting.
"""

import sys
import threading
from contextlib import ExitStack
from datetime import datetime
from os import getpid
from secrets import token_hex
from socket import gethostname
from time import monotonic

from fairlead import log, service
from fairlead.bell import Bell
from fairlead.health import CannotListen
from fairlead_worker import drain
from fairlead_worker.crew import Hopeless
from fairlead_worker.drain import Stage
from fairlead_worker.enlist import Enlistment
from fairlead_worker.exposition import Exposition
from fairlead_worker.family import Family
from fairlead_worker.handback import HandBacks
from fairlead_worker.keep import Keep
from fairlead_worker.lease import Dead, Held, LeaseThread, Unusable
from fairlead_worker.listener import Listener
from fairlead_worker.orders import Orders
from fairlead_worker.pod_drain import PodDrain
from fairlead_worker.rest import Phase
from fairlead_worker.rollcall import RollCall
from fairlead_worker.undertaker import Undertaker
from fairlead_worker.vigil import Vigil

_CALM_SECONDS, _BRISK_SECONDS = 0.5, 0.05
_TELL_SECONDS = 1.0
_LOST_SECONDS_MAX = 1.0


class Parent:
    """One worker, from its start to its end.

    Args:
        orders: the checked settings.
    """

    def __init__(self, orders: Orders) -> None:
        name = orders.worker_name or orders.pod_name or _chance_name()
        self._orders = orders
        self._log = log.get("worker")
        self._bell = Bell()
        self._stop, self._again = threading.Event(), threading.Event()
        self._stage, self._stage_since = Stage.SERVING, monotonic()
        self._limits = drain.Limits(grace_seconds=orders.grace_seconds)
        self._exit_code = 0
        self._tell_at = 0.0
        self._family = Family(orders)
        self._solo, self._crew = self._family.solo, self._family.crew
        self._lease = LeaseThread(
            orders, name=name, running=self._family.cancellable, news=self._bell
        )
        self._handbacks = HandBacks(self._lease)
        self._enlistment = Enlistment(orders, name, self._lease, self._handbacks.note)
        self._keep = Keep(orders, self._lease, self._solo.waiting)
        self._vigil = Vigil(self._lease)
        self._pod_drain = PodDrain(self._lease, self._family, self._handbacks)
        self._rollcall = RollCall(self._lease, self._family.claiming, self._orphaned)
        self._exposition = Exposition(
            orders, self._lease, self._handbacks, self._family.entries
        )
        self._listener = Listener(self._family, self._exposition, self._rollcall)
        self._undertaker = Undertaker(
            self._family,
            self._listener,
            handbacks=self._handbacks,
            exposition=self._exposition,
            rollcall=self._rollcall,
        )

    def run(self) -> int:
        """Serve until asked to stop; answer the exit code."""
        with ExitStack() as stack:
            stack.enter_context(
                service.running(
                    self._orders,
                    self._bell,
                    stop=self._stop,
                    again=self._again,
                    ready=self._ready,
                    registry=self._exposition.registry,
                )
            )
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
        self._family.end_overrunners(now)
        self._give_up(self._undertaker.bury_dead(now))
        self._handbacks.advance(now)
        self._take_next_step(now)
        self._fill_up(now)
        self._tell_slotless(now)
        self._listener.wait(self._bell, _BRISK_SECONDS if self._brisk() else _CALM_SECONDS)
        while self._lease.replies:
            self._lease.replies.popleft()()

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
            self._family.cancel(self._lease.cancelled)
            self._handbacks.give(self._solo.withdraw(self._lease.cancelled))

    def _fence(self, why: str) -> None:
        """End every handler, and begin anew: another worker may run their jobs from now on."""
        self._log.error("lease.lost", worker=self._enlistment.worker_id, why=why)
        self._exposition.lease_expirations += 1
        self._enlistment.lost()
        moment = min(_LOST_SECONDS_MAX, self._orders.worker_margin_seconds / 2)
        self._family.fence(within_seconds=moment)
        self._handbacks.forget()
        self._rollcall.cancel()

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
        worker_id = self._enlistment.worker_id
        if worker_id is not None:
            self._handbacks.give_unheld(worker_id, claimed_until, held | self._solo.tokens)

    # --- children ---------------------------------------------------------------------------

    def _fill_up(self, now: float) -> None:
        """Have children, then, when one is ready, a row, and then let them claim."""
        serving = self._stage == Stage.SERVING
        self._lease.offer(max(1, self._crew.slots) if serving else 1)
        if not serving:
            self._handbacks.give(self._solo.give_up())
            return
        if not self._family.children:
            self._enlistment.prepare()
        if self._enlistment.prepares:  # an application that cannot be loaded waits for nothing
            self._crew.fill(now)
        if self._enlistment.prepared:
            self._serve(now)

    def _serve(self, now: float) -> None:
        worker_id = self._enlistment.worker_id
        if worker_id is not None:
            self._pod_drain.advance(now, worker_id)
            self._exposition.marked_since = self._pod_drain.since
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
            self._lease.offer_beside(slotless)

    # --- the next step of a stop ------------------------------------------------------------

    def _take_next_step(self, now: float) -> None:
        waiting = self._orders.until_empty and not self._stop.is_set()
        if waiting and self._vigil.over(now, idle=self._idle()):
            self._log.info("worker.all_done")
            self._stop.set()
        seen = drain.Seen(
            asked=self._stop.is_set(),
            asked_again=self._again.is_set(),
            children=len(self._family.children),
            left=self._enlistment.left,
            here_seconds=now - self._stage_since,
        )
        stage = drain.next_stage(self._stage, seen, self._limits)
        if stage != self._stage:
            self._stage, self._stage_since = stage, now
            self._log.info(f"worker.{stage.name.lower()}")
            self._enter(stage)

    def _enter(self, stage: Stage) -> None:
        match stage:
            case Stage.DRAINING:
                self._exposition.stopping_since = monotonic()
                self._family.drain()
            case Stage.RELEASING:
                self._family.release()
            case Stage.KILLING:
                self._family.kill()
            case Stage.LEAVING:
                self._enlistment.leave()
            case _:
                return

    # --- what is asked about it -------------------------------------------------------------

    def _ready(self) -> bool:
        serves = self._crew.served and self._stage == Stage.SERVING
        return serves and self._pod_drain.phase != Phase.DRAINED

    def _idle(self) -> bool:
        return self._family.idle and not self._handbacks.pending

    def _brisk(self) -> bool:
        """Whether a moment that is due soon must not be missed by much."""
        return self._family.ending or self._stage > Stage.SERVING


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
