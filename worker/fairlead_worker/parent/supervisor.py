"""The parent's loop: keeps the lease, starts and watches the children, cleans up after them.

The parent runs none of the application's code, so no handler can keep it from renewing the
lease, cancelling a handler or killing a handler that does not stop.

One loop does all of this, a cycle at a time; `_cycle` lists the steps. Only the lease has a
thread of its own, because a call to the database may take long.
"""

import sys
import threading
from contextlib import ExitStack, closing
from datetime import datetime
from functools import partial
from os import getpid
from secrets import token_hex
from socket import gethostname
from time import monotonic

from fairlead import service
from fairlead.db import connect
from fairlead.runtime import log
from fairlead.runtime.health import CannotListen
from fairlead.runtime.wakeup import Wakeup
from fairlead_worker.config import WorkerConfig
from fairlead_worker.parent import shutdown_state
from fairlead_worker.parent.children import Children
from fairlead_worker.parent.claiming_children import CannotStartChildren
from fairlead_worker.parent.connection_check import ConnectionCheck
from fairlead_worker.parent.crash_review import CrashReview
from fairlead_worker.parent.deadline_extender import DeadlineExtender
from fairlead_worker.parent.hand_back import HandBacks
from fairlead_worker.parent.inbox import Inbox
from fairlead_worker.parent.lease_thread import (
    DatabaseUnusable,
    LeaseHeld,
    LeaseThread,
    MarkedDead,
)
from fairlead_worker.parent.metrics_page import MetricsPage
from fairlead_worker.parent.orphan_claims import OrphanClaims
from fairlead_worker.parent.pod_drain import PodDrain
from fairlead_worker.parent.pod_drain_state import DrainPhase
from fairlead_worker.parent.reaper import Reaper
from fairlead_worker.parent.registration import Registration
from fairlead_worker.parent.shutdown_state import ShutdownStage
from fairlead_worker.parent.until_empty import UntilEmpty

_WAIT_SECONDS = 0.5
_WAIT_SECONDS_NEAR_DEADLINE = 0.05
_REPORT_SLOTLESS_SECONDS = 1.0
_FENCE_SECONDS_MAX = 1.0


class Supervisor:
    """One worker, from its start to its end.

    Args:
        config: the checked settings.
    """

    def __init__(self, config: WorkerConfig) -> None:
        name = config.worker_name or config.pod_name or _random_name()
        self._config = config
        self._log = log.get("worker")
        self._wakeup = Wakeup()
        self._stop, self._stop_now = threading.Event(), threading.Event()
        self._stage, self._stage_since = ShutdownStage.SERVING, monotonic()
        self._limits = shutdown_state.ShutdownLimits(grace_seconds=config.grace_seconds)
        self._exit_code = 0
        self._report_slotless_at = 0.0
        self._children = Children(config)
        self._quarantine, self._claiming = self._children.quarantine, self._children.claiming
        self._lease = LeaseThread(
            config, name=name, running=self._children.cancellable, changed=self._wakeup
        )
        self._hand_backs = HandBacks(self._lease)
        self._registration = Registration(config, name, self._lease, self._hand_backs.count)
        self._deadline_extender = DeadlineExtender(
            config, self._lease, self._quarantine.waiting
        )
        self._until_empty = UntilEmpty(self._lease)
        self._pod_drain = PodDrain(self._lease, self._children, self._hand_backs)
        self._orphan_claims = OrphanClaims(
            self._lease, self._children.holding_claims, self._orphaned
        )
        self._metrics_page = MetricsPage(
            config, self._lease, self._hand_backs, self._children.entries
        )
        self._crash_review = CrashReview(
            self._lease,
            self._children,
            hand_backs=self._hand_backs,
            metrics_page=self._metrics_page,
        )
        self._connection_check = ConnectionCheck(partial(_open_and_close, config))
        self._inbox = Inbox(
            self._children,
            self._metrics_page,
            self._orphan_claims,
            self._connection_check,
            self._crash_review,
        )
        self._reaper = self._make_reaper()

    def _make_reaper(self) -> Reaper:
        return Reaper(
            self._children,
            self._inbox,
            hand_backs=self._hand_backs,
            metrics_page=self._metrics_page,
            orphan_claims=self._orphan_claims,
            connection_check=self._connection_check,
            crash_review=self._crash_review,
        )

    def run(self) -> int:
        """Serve until asked to stop; return the exit code."""
        with ExitStack() as stack:
            stack.enter_context(
                service.running(
                    self._config,
                    self._wakeup,
                    stop=self._stop,
                    again=self._stop_now,
                    ready=self._is_ready,
                    registry=self._metrics_page.registry,
                )
            )
            self._lease.start()
            stack.callback(self._lease.stop)
            stack.callback(self._children.template.close)
            while self._stage < ShutdownStage.GONE:
                self._cycle()
        self._log.info("worker.stopped", exit_code=self._exit_code)
        return self._exit_code

    def _cycle(self) -> None:
        """Fence, end bad children, reap, advance the shutdown, serve, and read messages."""
        now = monotonic()
        self._check_lease(now)
        self._crash_review.overran(self._children.end_overrunners(now))
        self._children.end_cut_off(self._connection_check.advance(now))
        self._give_up(self._reaper.reap(now))
        self._hand_backs.advance(now)
        self._advance_shutdown(now)
        self._start_and_serve(now)
        self._share_connections()
        self._report_slotless(now)
        near = self._is_deadline_near()
        self._inbox.wait(self._wakeup, _WAIT_SECONDS_NEAR_DEADLINE if near else _WAIT_SECONDS)
        while self._lease.replies:
            self._lease.replies.popleft()()

    # --- the lease --------------------------------------------------------------------------

    def _check_lease(self, now: float) -> None:
        self._lease.abort_stuck_call(now)
        status, worker_id = self._lease.status, self._registration.worker_id
        if isinstance(status, DatabaseUnusable):
            self._give_up(CannotStartChildren(status.exit_code, status.sentence))
        if self._lease.pool_refusal and not self._stop.is_set():
            self._leave_pool(self._lease.pool_refusal)
        if worker_id is None:
            return
        if isinstance(status, MarkedDead) and status.worker_id == worker_id:
            self._fence("its row was marked dead")
        elif isinstance(status, LeaseHeld) and now >= status.trusted_until:
            self._fence("it could not be renewed in time")
        else:
            self._children.cancel(self._lease.cancelled)
            self._hand_backs.hand_back(self._quarantine.withdraw(self._lease.cancelled))
            self._children.evict(self._lease.evicted)

    def _fence(self, why: str) -> None:
        """End every handler and start over: another worker may run their jobs from now on."""
        self._log.error("lease.lost", worker=self._registration.worker_id, reason=why)
        self._metrics_page.lease_expirations += 1
        self._registration.lease_lost()
        seconds = min(_FENCE_SECONDS_MAX, self._config.worker_margin_seconds / 2)
        self._children.fence(within_seconds=seconds)
        self._hand_backs.forget()
        self._orphan_claims.cancel()

    def _give_up(self, cannot_start: CannotStartChildren | None) -> None:
        """Stop at once, because no child can ever work, and report why."""
        if cannot_start is None or self._exit_code:
            return
        if cannot_start.sentence is not None:
            sys.stderr.write(f"fairlead: {cannot_start.sentence}\n")
        self._exit_code = cannot_start.exit_code
        self._stop.set()
        self._stop_now.set()

    def _leave_pool(self, why: str) -> None:
        """Stop as for SIGTERM: another release's handlers are to run what the pool has."""
        self._log.error("pool.lost", pool=self._config.pool, reason=why)
        self._exit_code = 1
        self._stop.set()

    def _orphaned(self, claimed_until: datetime, held: frozenset[int]) -> None:
        """Hand back the claims that the orphan-claim check found to be held by no child."""
        worker_id = self._registration.worker_id
        if worker_id is not None:
            self._hand_backs.hand_back_unheld(
                worker_id,
                claimed_until,
                held | self._quarantine.tokens,
                self._crash_review.unheld,
            )

    # --- children ---------------------------------------------------------------------------

    def _share_connections(self) -> None:
        """Let children connect while the parent is connected; without them it has no need."""
        self._children.allow_connections(allowed=self._lease.is_connected)
        self._lease.is_alone = (
            self._connection_check.is_refused_too and not self._children.is_connected
        )

    def _start_and_serve(self, now: float) -> None:
        """Start children, register once one is ready, then let them claim."""
        serving = self._stage == ShutdownStage.SERVING
        self._lease.set_slots(max(1, self._claiming.slots) if serving else 1)
        self._lease.set_evictable_kinds(self._claiming.evictable)
        if not serving:
            self._hand_backs.hand_back(self._quarantine.give_up())
            return
        if not self._children.all:
            self._registration.prepare()
        # Before the database answers: an application that cannot be loaded fails at once.
        if self._registration.has_begun_preparing:
            self._claiming.fill(now)
        if self._registration.prepared:
            self._serve(now)

    def _serve(self, now: float) -> None:
        worker_id = self._registration.worker_id
        if worker_id is not None:
            self._pod_drain.advance(now, worker_id)
            self._metrics_page.marked_since = self._pod_drain.since
            self._crash_review.advance(now)
            self._claiming.send_isolated(now)
            self._quarantine.advance(now, excluded=self._deadline_extender.under_way)
            self._deadline_extender.advance(now)
            self._orphan_claims.advance(now)
        elif self._claiming.slots:
            self._registration.register(self._claiming.kinds)

    def _report_slotless(self, now: float) -> None:
        """Report more attempts without slots in the row at once, and fewer a second later.

        With short jobs the number changes all the time, and each report is a renewal.
        """
        slotless = self._children.slotless + self._claiming.slotless
        if slotless > self._lease.slotless or now >= self._report_slotless_at:
            self._report_slotless_at = now + _REPORT_SLOTLESS_SECONDS
            self._lease.set_slotless(slotless)

    # --- shutdown ---------------------------------------------------------------------------

    def _advance_shutdown(self, now: float) -> None:
        waiting = self._config.until_empty and not self._stop.is_set()
        if waiting and self._until_empty.check(now, idle=self._is_idle()):
            self._log.info("until_empty.done")
            self._stop.set()
        if self._config.jobs is not None and self._has_done_its_jobs():
            self._stop.set()
        inputs = shutdown_state.ShutdownInputs(
            stop_requested=self._stop.is_set(),
            stop_requested_again=self._stop_now.is_set(),
            children=len(self._children.all),
            deregistered=self._registration.deregistered,
            stage_seconds=now - self._stage_since,
        )
        stage = shutdown_state.next_stage(self._stage, inputs, self._limits)
        if stage != self._stage:
            self._stage, self._stage_since = stage, now
            self._log.info(f"worker.{stage.name.lower()}")
            self._enter(stage)

    def _enter(self, stage: ShutdownStage) -> None:
        match stage:
            case ShutdownStage.DRAINING:
                self._metrics_page.stopping_since = monotonic()
                self._children.drain()
            case ShutdownStage.RELEASING:
                self._children.release()
            case ShutdownStage.KILLING:
                self._children.kill()
            case ShutdownStage.LEAVING:
                self._registration.deregister(begun=self._hand_backs.pending)
            case _:
                return

    # --- state ------------------------------------------------------------------------------

    def _is_ready(self) -> bool:
        serves = self._claiming.served and self._stage == ShutdownStage.SERVING
        return serves and self._pod_drain.phase != DrainPhase.DRAINED

    def _has_done_its_jobs(self) -> bool:
        """Whether it claimed all it may, or its pod is drained."""
        return self._claiming.jobs_done or self._pod_drain.phase == DrainPhase.DRAINED

    def _is_idle(self) -> bool:
        return self._children.is_idle and not self._hand_backs.pending

    def _is_deadline_near(self) -> bool:
        """Whether a moment is due soon that the loop must not miss by much."""
        return self._children.is_ending or self._stage > ShutdownStage.SERVING


def run(config: WorkerConfig) -> int:
    """Run a worker's parent until it is asked to stop; return the exit code."""
    log.configure(config.log_format, config.log_level)
    try:
        return Supervisor(config).run()
    except CannotListen as refused:
        sys.stderr.write(f"fairlead: {refused}\n")
        return 2


def _open_and_close(config: WorkerConfig) -> None:
    """Open the two connections that a child needs."""
    with ExitStack() as opened:
        for _ in range(2):
            opened.enter_context(
                closing(connect.connect(config, name="worker connection check"))
            )


def _random_name() -> str:
    return f"{gethostname()}-{getpid()}-{token_hex(3)}"
