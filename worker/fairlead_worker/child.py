"""The child: the process that claims jobs, runs their handlers and writes how they ended.

Its threads: the event loop in the main thread, those of plain functions, the claimer, the
finisher, and one that hears the parent. A fault in one of Fairlead's own ends the process, and
the parent starts another: a child that does half of its work is worse than none.
"""

import asyncio
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from pydantic import ValidationError

from fairlead import log, store, tasks
from fairlead.lifeline import die_with_parent, leave_signals_to_parent
from fairlead.settings import DatabaseSettings, explain
from fairlead.store import Connection
from fairlead_worker import tracing, wire
from fairlead_worker.alone import Loner
from fairlead_worker.apart import Apart
from fairlead_worker.attempt import Attempt
from fairlead_worker.child_orders import ChildOrders, read
from fairlead_worker.claim import Claimer, Line
from fairlead_worker.control import Control
from fairlead_worker.counts import Counts
from fairlead_worker.eager import Loop
from fairlead_worker.execute import Executor
from fairlead_worker.finish import Finisher
from fairlead_worker.intake import Intake, Sorter
from fairlead_worker.ledger import Ledger
from fairlead_worker.origins import Origins
from fairlead_worker.outcome import HandedBack, Stop
from fairlead_worker.slots import Slots
from fairlead_worker.tally import Tally
from fairlead_worker.telling import Teller
from fairlead_worker.tracing import FLUSH_SECONDS
from fairlead_worker.watch import Watch

_STOP_SECONDS = 0.8
_LOOK_SECONDS = 0.02
_WRITE_LOOKS = 20
_FAULT = 70
_RETURNED = HandedBack("returned")


class Child:
    """One child, from its first connection to its last word.

    Args:
        orders: what the parent said on the command line.
        app: the application.
        settings: where the database is.
    """

    def __init__(
        self, orders: ChildOrders, app: tasks.Tasks, settings: DatabaseSettings
    ) -> None:
        self._orders, self._app, self._settings = orders, app, settings
        self._log = log.get("worker.child")
        self._loop = Loop()
        self._control = Control(orders.control_fd)
        self._over: asyncio.Future[None] = self._loop.create_future()
        self._draining = self._claims_stopped = self._said_ready = False
        self._rest: int | None = None  # which one was asked for last; none after a `Go`
        self._claims_rest = False
        ledger = Ledger(orders.ledger_fd, orders.concurrency)
        self._slots = Slots(orders.concurrency, ledger)
        self._spans = tracing.start(orders.pool)
        self._tally = Tally(orders.wait_bounds)
        self._counts = Counts(self._tally, self._control.say)
        self._apart = Apart(orders)
        self._watch = Watch(self._loop, self._slots, self._give_back)
        self._finisher = Finisher(
            partial(self._open, "worker endings"),
            self._slots,
            self._counts,
            emptied=self._emptied,
            stop=self._stop_soon,
            written=None if self._spans is None else self._spans.written,
        )
        self._executor = Executor(
            self._loop,
            self._slots,
            ended=self._finisher.ended,
            apart=self._apart.run,
            lend=self._lend,
            filled=self._watch.arm,
            tell=Teller(app.on_error).tell,
            spans=self._spans,
        )
        self._claimer = self._make_claimer()

    def _make_claimer(self) -> Claimer | Loner:
        orders = self._orders
        open_one = partial(self._open, "worker claims")
        sorter = Sorter(self._app.handlers, self._finisher.reports)
        origins = None if self._spans is None else Origins()
        intake = Intake(sorter, self._slots, self._executor, self._finisher, origins=origins)
        if orders.alone:
            return Loner(
                open_one,
                intake=intake,
                slots=self._slots,
                say=self._control.say,
                reached=self._reached,
                stopped=self._claimer_stopped,
            )
        listens = self._settings.database_direct
        return Claimer(
            Line(open_one=open_one, listens=listens, say=self._control.say),
            orders.pool,
            slots=self._slots,
            intake=intake,
            ended=lambda: self._finisher.total,
            tally=self._tally,
            reached=self._reached,
            stopped=self._claimer_stopped,
        )

    def run(self) -> None:
        """Serve until the parent says otherwise."""
        asyncio.set_event_loop(self._loop)
        for name, work in (
            ("claimer", self._claimer.run),
            ("finisher", self._finisher.run),
            ("control", self._listen),
        ):
            threading.Thread(target=_guarded, args=(work,), name=name, daemon=True).start()
        self._loop.run_until_complete(self._over)
        self._finisher.stop()
        self._counts.close_second(())
        self._apart.close(within_seconds=0.0 if self._spans is None else FLUSH_SECONDS)
        self._control.say(wire.Drained())
        if self._spans is not None:
            self._spans.close(FLUSH_SECONDS)
        if self._slots.held:
            _exit_now()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def _open(self, name: str) -> Connection:
        return store.connect_service(self._settings, name=name)

    # --- what the parent says ---------------------------------------------------------------

    def _listen(self) -> None:
        """Heed the parent, in a thread of its own; what must not wait for the loop does not."""
        for message in self._control.messages():
            match message:
                case wire.Go(worker_id):
                    self._loop.call_soon_threadsafe(self._begin_rest, None)
                    self._claimer.go(worker_id)
                case wire.Rest(number) if isinstance(self._claimer, Claimer):
                    self._loop.call_soon_threadsafe(self._begin_rest, number)
                    self._claimer.rest(partial(self._claimer_rests, number))
                case wire.Take(job_id, token) if isinstance(self._claimer, Loner):
                    self._claimer.take((job_id, token))
                case wire.Roll(number):
                    self._claimer.roll(number)
                case wire.Lost():
                    break
                case _:
                    self._loop.call_soon_threadsafe(self._heed, message)
        self._end_unwritten()

    def _heed(self, message: wire.ToChild) -> None:
        match message:
            case wire.Drain():
                self._drain()
            case wire.Release():
                self._drain()
                self._watch.stop_all("released")
                self._loop.call_later(_STOP_SECONDS, self._finish_when_written, _WRITE_LOOKS)
            case wire.Cancel(jobs):
                self._watch.stop_tokens([token for _, token in jobs], "cancelled")
            case wire.Settled(job_id, token):
                if self._slots.repay((job_id, token)):
                    self._executor.fill()
                    self._claimer.look()
            case _:
                self._log.error("message.unexpected", message=type(message).__name__)

    def _end_unwritten(self) -> None:
        """Tell every handler that its job is lost, and end: the lease or the parent is gone."""
        self._finisher.stop()
        self._claimer.stop()
        self._loop.call_soon_threadsafe(self._watch.stop_all, "lost")
        rest = threading.Event()
        for _ in range(int(_STOP_SECONDS / _LOOK_SECONDS)):
            rest.wait(_LOOK_SECONDS)
            if not any(self._slots.running):
                break
        _exit_now()

    # --- stages -----------------------------------------------------------------------------

    def _reached(self) -> None:
        """Say that this child can work, once; in the claimer's thread."""
        if not self._said_ready:
            self._said_ready = True
            self._control.say(wire.Ready(tuple(self._app.handlers)))

    def _drain(self) -> None:
        self._draining = True
        self._claimer.stop()
        self._finish_if_empty()

    def _claimer_stopped(self) -> None:
        """Go on with the drain, in the loop's thread."""
        self._loop.call_soon_threadsafe(self._return_unstarted)

    def _return_unstarted(self) -> None:
        self._claims_stopped = self._draining = True
        self._control.say(wire.Draining())
        self._give_back(self._slots.take_unstarted())
        self._finish_if_empty()

    def _emptied(self) -> None:
        """Note that all is written; in the finisher's thread."""
        if self._draining or self._rest is not None:
            self._loop.call_soon_threadsafe(self._finish_if_empty)
        else:
            self._claimer.look()

    def _finish_if_empty(self) -> None:
        """Say what waits for the last ending, if nothing is held any more."""
        if self._slots.held:
            return
        if self._claims_rest and self._rest is not None:
            self._claims_rest = False  # so that it is said once
            self._control.say(wire.Rested(self._rest))
        if self._draining and self._claims_stopped:
            self._finish()

    def _finish_when_written(self, looks: int) -> None:
        """Finish although handlers still run, once what has ended is written."""
        ended = any(each.ending or each.ended_us for each in tuple(self._slots.held.values()))
        if ended and looks:
            self._loop.call_later(_LOOK_SECONDS, self._finish_when_written, looks - 1)
        else:
            self._finish()

    def _finish(self) -> None:
        if not self._over.done():
            self._over.set_result(None)

    # --- a rest, from which a `Go` wakes it up ------------------------------------------------

    def _begin_rest(self, number: int | None) -> None:
        self._rest, self._claims_rest = number, False

    def _claimer_rests(self, number: int) -> None:
        """Go on with the rest, in the loop's thread: no claim is under way."""
        self._loop.call_soon_threadsafe(self._return_rest, number)

    def _return_rest(self, number: int) -> None:
        if number == self._rest:
            self._claims_rest = True
            self._give_back(self._slots.take_unstarted())
            self._finish_if_empty()

    # --- attempts ---------------------------------------------------------------------------

    def _give_back(self, attempts: Iterable[Attempt]) -> None:
        returned = list(attempts)
        for attempt in returned:
            attempt.ending = _RETURNED
        if returned:
            self._finisher.ended_many(returned)

    def _lend(self, attempt: Attempt) -> None:
        """Hand an attempt to the parent, which runs it alone; its slot stays taken."""
        self._slots.lend(attempt)
        self._control.say(wire.Alone(*attempt.key))
        self._slots.settle([attempt])  # not before: a roll call would find that nobody has it
        self._finish_if_empty()

    def _stop_soon(self, attempt: Attempt, why: Stop) -> None:
        """Have an attempt stop; in the finisher's thread."""
        self._loop.call_soon_threadsafe(self._stop_one, attempt, why)

    def _stop_one(self, attempt: Attempt, why: Stop) -> None:
        if not self._executor.withdraw(attempt, why) and why != "expired":
            self._watch.stop(attempt, why)


def _guarded(work: Callable[[], None]) -> None:
    """Run one of Fairlead's own threads; its fault is the end of the process."""
    try:
        work()
    except BaseException:  # noqa: BLE001 - whatever it is, the process ends with it
        log.get("worker.child").exception(
            "thread.failed", thread=threading.current_thread().name
        )
        sys.stderr.flush()
        os._exit(_FAULT)


def _exit_now() -> None:
    """End with handlers still running: nobody may wait for them."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def main(arguments: Sequence[str]) -> int:
    """Be a child; answer the exit code."""
    die_with_parent()
    orders = read(arguments)
    log.configure(orders.log_format, orders.log_level)
    log.print_by_line()
    leave_signals_to_parent()
    try:
        app = tasks.load(orders.app)
        log.mark_records()
        child = Child(orders, app, DatabaseSettings())
    except (tasks.AppError, ValidationError) as error:
        words = explain(error) if isinstance(error, ValidationError) else str(error)
        sys.stderr.write(f"fairlead: {words}\n")
        return 2
    gc.freeze()  # what is loaded by now stays
    child.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
