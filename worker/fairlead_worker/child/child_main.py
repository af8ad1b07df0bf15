"""The child process: builds the claimer, the executor and the finisher, and obeys the parent.

Its threads: the event loop in the main thread, those of plain functions, the claimer, the
finisher, and one that reads the parent's messages. An error in one of Fairlead's own threads
ends the process, and the parent starts another: a child that does half of its work is worse
than none.
"""

import asyncio
import gc
import os
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from pydantic import ValidationError

from fairlead.application import AppError, load
from fairlead.db import connect
from fairlead.db.connect import Connection
from fairlead.db.statements import load_all
from fairlead.runtime import log
from fairlead.runtime.forked_copy import end_if_copy
from fairlead.runtime.parent_death import die_with_parent, leave_signals_to_parent
from fairlead.settings import DatabaseSettings, explain
from fairlead.tasks import Handler, Tasks
from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.attempts.error_callback import ErrorCallback
from fairlead_worker.attempts.outcome import HandedBack, Stop
from fairlead_worker.child.attempt_metrics import AttemptMetrics
from fairlead_worker.child.claimer import Claimer, ClaimerLink
from fairlead_worker.child.connections import Connections
from fairlead_worker.child.deadline_watch import DeadlineWatch
from fairlead_worker.child.eager_loop import EagerLoop
from fairlead_worker.child.executor import Executor
from fairlead_worker.child.finisher import Finisher
from fairlead_worker.child.intake import ClaimSorter, Intake
from fairlead_worker.child.loop_watch import LoopWatch
from fairlead_worker.child.parent_link import ParentLink
from fairlead_worker.child.process_end import exit_now, guarded
from fairlead_worker.child.quarantine_runner import QuarantineRunner
from fairlead_worker.child.slots import Slots
from fairlead_worker.ipc import messages
from fairlead_worker.ipc.attempt_table import AttemptTable
from fairlead_worker.ipc.child_args import LIFESPAN_FAILED, ChildArguments, read
from fairlead_worker.isolated.process_runner import ProcessRunner
from fairlead_worker.lifecycle.process_lifespan import (
    LifespanFailed,
    ProcessLifespan,
    report_failure,
)
from fairlead_worker.metrics.counters import Counters
from fairlead_worker.tracing import setup
from fairlead_worker.tracing.origin_reader import OriginReader
from fairlead_worker.tracing.setup import FLUSH_SECONDS

_STOP_SECONDS = 0.8
_POLL_SECONDS = 0.02
_POLLS_MAX = 20
_RETURNED = HandedBack("returned")


class Child:
    """The child process itself; `parent.child_handle.ChildHandle` is the parent's view of it.

    Args:
        arguments: the command line that the parent wrote.
        app: the application.
        settings: where the database is.
        loop: the event loop.

    Raises:
        LifespanFailed: the application's lifespan has not started.
    """

    def __init__(
        self,
        arguments: ChildArguments,
        app: Tasks,
        settings: DatabaseSettings,
        loop: EagerLoop,
    ) -> None:
        self._arguments, self._settings = arguments, settings
        self._log = log.get("worker.child")
        self._loop = loop
        self._lifespan = ProcessLifespan(app, loop)
        handlers = self._lifespan.start()
        self._lifespan.watch(self._drain)
        self._parent = ParentLink(arguments.control_fd)
        self._done: asyncio.Future[None] = self._loop.create_future()
        self._draining = self._claims_stopped = False
        self._pause: int | None = None  # the last one requested; None after `StartClaiming`
        self._claims_paused = False
        table = AttemptTable(arguments.table_fd, arguments.concurrency)
        self._slots = Slots(arguments.concurrency, table, stand_ins=arguments.stand_ins)
        self._connections = Connections(
            partial(_open, settings),
            _ready(app.handlers),
            self._parent.send,
            holds=lambda: bool(self._slots.held),
        )
        self._spans = setup.start(arguments.pool)
        self._counters = Counters(arguments.wait_bounds)
        self._metrics = AttemptMetrics(self._counters, self._parent.send)
        self._process_runner = ProcessRunner(arguments, app.opens)
        self._deadline_watch = self._make_deadline_watch()
        self._finisher = self._make_finisher()
        self._executor = Executor(
            self._loop,
            self._slots,
            ended=self._finisher.ended,
            run_isolated=self._process_runner.run,
            to_quarantine=self._send_to_quarantine,
            filled=self._filled,
            report_failure=ErrorCallback(app.on_error).report,
            spans=self._spans,
        )
        self._loop_watch = self._make_loop_watch()
        self._sorter = ClaimSorter(handlers, self._finisher.reports)
        self._claimer = self._make_claimer()

    def _make_finisher(self) -> Finisher:
        return Finisher(
            self._connections,
            self._slots,
            self._metrics,
            emptied=self._all_stored,
            stop=self._stop_soon,
            stored=None if self._spans is None else self._spans.stored,
        )

    def _make_deadline_watch(self) -> DeadlineWatch:
        return DeadlineWatch(
            self._loop,
            self._slots,
            self._return_unrun,
            report_slotless=lambda count: self._parent.send(messages.Slotless(count)),
            fill=self._fill,
        )

    def _make_loop_watch(self) -> LoopWatch:
        return LoopWatch(
            self._loop,
            self._slots,
            runner=Executor.run_on_loop.__code__,
            counters=self._counters,
            blocked=self._parent.send,
            return_late=self._deadline_watch.return_late,
        )

    def _make_claimer(self) -> Claimer | QuarantineRunner:
        arguments = self._arguments
        origins = None if self._spans is None else OriginReader()
        intake = Intake(
            self._sorter, self._slots, self._executor, self._finisher, origins=origins
        )
        if arguments.quarantine:
            return QuarantineRunner(
                self._connections,
                intake=intake,
                slots=self._slots,
                may_store=self._finisher.may_store,
                send=self._parent.send,
                stopped=self._claimer_stopped,
            )
        listens = self._settings.database_direct
        claimer = Claimer(
            ClaimerLink(connections=self._connections, listens=listens, send=self._parent.send),
            arguments.pool,
            slots=self._slots,
            intake=intake,
            ended=lambda: self._finisher.ran_total,
            may_store=self._finisher.may_store,
            counters=self._counters,
            stopped=self._claimer_stopped,
        )
        claimer.claim_at_most(arguments.jobs)
        return claimer

    def run(self) -> int:
        """Serve until the parent sends the end; return the exit code."""
        for name, work in (
            ("claimer", self._claimer.run),
            ("finisher", self._finisher.run),
            ("control", self._listen),
            ("loop watch", self._loop_watch.run),
        ):
            threading.Thread(
                target=guarded, args=(work, self._slots), name=name, daemon=True
            ).start()
        guarded(lambda: self._loop.run_until_complete(self._done), self._slots)
        self._finisher.stop()
        self._metrics.flush(())
        self._process_runner.close(within_seconds=0.0 if self._spans is None else FLUSH_SECONDS)
        self._parent.send(messages.Drained())
        if not self._slots.held:  # or a handler has what it would close
            self._lifespan.stop()
        if self._spans is not None:
            self._spans.close(FLUSH_SECONDS)
        if self._slots.held:
            exit_now()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()
        return LIFESPAN_FAILED if self._lifespan.ended_early else 0

    # --- the parent's messages ---------------------------------------------------------------

    def _listen(self) -> None:
        """Read the parent's messages in a thread; urgent ones do not wait for the loop."""
        for message in self._parent.messages():
            match message:
                case messages.StartClaiming(worker_id):
                    self._loop.call_soon_threadsafe(self._begin_pause, None)
                    self._claimer.start_claiming(worker_id)
                case messages.PauseClaiming(number) if isinstance(self._claimer, Claimer):
                    self._loop.call_soon_threadsafe(self._begin_pause, number)
                    self._claimer.pause(partial(self._claimer_paused, number))
                case messages.RunSuspect(job_id, token) if isinstance(
                    self._claimer, QuarantineRunner
                ):
                    self._claimer.take((job_id, token))
                case (
                    messages.QuarantineSources()
                    | messages.IsolateKinds()
                    | messages.MayConnect()
                ):
                    self._set(message)
                case messages.BoundClaims(bound) if isinstance(self._claimer, Claimer):
                    self._claimer.bound(bound)
                case messages.HeldTokensRequest(number):
                    self._claimer.report_held(number)
                case messages.LeaseLost():
                    break
                case _:
                    self._loop.call_soon_threadsafe(self._handle, message)
        self._end_without_storing()

    def _set(
        self, message: messages.QuarantineSources | messages.IsolateKinds | messages.MayConnect
    ) -> None:
        match message:
            case messages.QuarantineSources(sources):
                self._sorter.quarantine(sources)
            case messages.IsolateKinds(kinds):
                self._slots.moved = self._sorter.in_processes(kinds)
            case messages.MayConnect(allowed):
                self._connections.allow(allowed=allowed)

    def _handle(self, message: messages.ToChild) -> None:
        match message:
            case messages.Drain():
                self._drain()
            case messages.Release():
                self._drain()
                self._deadline_watch.stop_all("released")
                self._loop.call_later(_STOP_SECONDS, self._end_when_stored, _POLLS_MAX)
            case messages.Cancel(jobs):
                self._deadline_watch.stop_tokens([token for _, token in jobs], "cancelled")
            case messages.Evict(jobs):
                self._deadline_watch.stop_tokens([token for _, token in jobs], "evicted")
            case messages.SlotReturned(job_id, token):
                if self._slots.return_slot((job_id, token)):
                    self._fill()
            case messages.SuspectEnded(job_id, token):
                self._slots.end_elsewhere((job_id, token))
                self._executor.fill()
            case _:
                self._log.error("message.unexpected", message=type(message).__name__)

    def _end_without_storing(self) -> None:
        """Stop every handler as lost and exit: the lease or the parent is gone."""
        self._finisher.stop()
        self._claimer.stop()
        self._loop.call_soon_threadsafe(self._deadline_watch.stop_all, "lost")
        rest = threading.Event()
        for _ in range(int(_STOP_SECONDS / _POLL_SECONDS)):
            rest.wait(_POLL_SECONDS)
            if not any(self._slots.running):
                break
        exit_now()

    # --- stages -----------------------------------------------------------------------------

    def _drain(self) -> None:
        self._draining = True
        self._claimer.stop()
        self._end_if_empty()

    def _claimer_stopped(self) -> None:
        """Continue the drain in the loop's thread."""
        self._loop.call_soon_threadsafe(self._return_unstarted)

    def _return_unstarted(self) -> None:
        self._claims_stopped = self._draining = True
        self._parent.send(messages.Draining())
        self._return_unrun(self._slots.take_unstarted())
        self._end_if_empty()

    def _all_stored(self) -> None:
        """Note that nothing is held any more; in the finisher's thread."""
        if self._draining or self._pause is not None:
            self._loop.call_soon_threadsafe(self._end_if_empty)
        else:
            self._claimer.wake()

    def _end_if_empty(self) -> None:
        """Do what waits for the last ending, if nothing is held any more."""
        if self._slots.held:
            return
        if self._claims_paused and self._pause is not None:
            self._claims_paused = False  # so that it is sent once
            self._parent.send(messages.ClaimingPaused(self._pause))
        if self._draining and self._claims_stopped:
            self._end()

    def _end_when_stored(self, polls_left: int) -> None:
        """End although handlers still run, once what has ended is stored."""
        ended = any(each.ending or each.ended_us for each in tuple(self._slots.held.values()))
        if ended and polls_left:
            self._loop.call_later(_POLL_SECONDS, self._end_when_stored, polls_left - 1)
        else:
            self._end()

    def _end(self) -> None:
        if not self._done.done():
            self._done.set_result(None)

    # --- a pause, which `StartClaiming` ends -----------------------------------------------

    def _begin_pause(self, number: int | None) -> None:
        self._pause, self._claims_paused = number, False

    def _claimer_paused(self, number: int) -> None:
        """Continue the pause in the loop's thread: no claim is under way."""
        self._loop.call_soon_threadsafe(self._finish_pause, number)

    def _finish_pause(self, number: int) -> None:
        if number == self._pause:
            self._claims_paused = True
            self._return_unrun(self._slots.take_unstarted())
            self._end_if_empty()

    # --- attempts ---------------------------------------------------------------------------

    def _fill(self) -> None:
        """Use a slot that is free again."""
        self._executor.fill()
        self._claimer.wake()

    def _filled(self) -> None:
        self._deadline_watch.arm()
        self._loop_watch.arm()

    def _return_unrun(self, attempts: Iterable[Attempt]) -> None:
        returned = list(attempts)
        for attempt in returned:
            attempt.ending = _RETURNED
        if returned:
            self._finisher.ended_many(returned)

    def _send_to_quarantine(self, attempt: Attempt) -> None:
        """Send a suspect job to the parent, which quarantines it; its slot stays taken."""
        self._slots.lend_slot(attempt)
        row, gated = attempt.row, attempt.handler.concurrency is not None
        self._parent.send(
            messages.NeedsQuarantine(*attempt.key, (row.kind, row.tenant), row.alone, gated)
        )
        self._slots.drop([attempt])  # not before, or an orphan-claim check would miss it
        self._end_if_empty()

    def _stop_soon(self, attempt: Attempt, why: Stop) -> None:
        """Stop an attempt; in the finisher's thread."""
        self._loop.call_soon_threadsafe(self._stop_one, attempt, why)

    def _stop_one(self, attempt: Attempt, why: Stop) -> None:
        if not self._executor.withdraw(attempt, why) and why != "expired":
            self._deadline_watch.stop(attempt, why)


def _open(settings: DatabaseSettings, name: str) -> Connection:
    return connect.connect_service(settings, name=name)


def _ready(handlers: Mapping[str, Handler]) -> messages.Ready:
    evictable = tuple(kind for kind, each in handlers.items() if each.evictable)
    attempts = tuple(each.max_attempts for each in handlers.values())
    at_most_once = tuple(kind for kind, each in handlers.items() if each.at_most_once)
    limits = {kind: each.fleet_concurrency for kind, each in handlers.items()}
    limited = {kind: limit for kind, limit in limits.items() if limit is not None}
    return messages.Ready(
        tuple(handlers),
        evictable,
        attempts,
        at_most_once,
        tuple(limited),
        tuple(limited.values()),
    )


def main(argv: Sequence[str]) -> int:
    """Run a child; return the exit code."""
    die_with_parent()
    arguments = read(argv)
    log.configure(arguments.log_format, arguments.log_level)
    log.print_by_line()
    leave_signals_to_parent()
    pid = os.getpid()
    try:
        app = load(arguments.app)
        end_if_copy(pid)
        log.mark_records()
        settings, loop = DatabaseSettings(), EagerLoop()
        asyncio.set_event_loop(loop)
        child = Child(arguments, app, settings, loop)
    except LifespanFailed as error:
        report_failure(str(error))
        return LIFESPAN_FAILED
    except (AppError, ValidationError) as error:
        message = explain(error) if isinstance(error, ValidationError) else str(error)
        sys.stderr.write(f"fairlead: {message}\n")
        return 2
    load_all("fairlead_worker.attempts")
    gc.freeze()  # what is loaded by now stays
    return child.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
