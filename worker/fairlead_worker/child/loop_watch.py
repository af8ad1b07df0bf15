"""The watchdog of the event loop: finds which handler keeps the loop from everything else.

The loop notes when each of its turns begins (`eager_loop`). A thread looks every 25 ms while
something is held, and when a turn is older than that it reads the main thread's stack, which
names the handler and its line. The time between two such samples is the handler's. It is taken
off the run times of the other coroutines, which waited (`Attempt.stalled_us`), and all other
deadlines move by it, for the loop can stop nobody meanwhile. A kind whose handlers kept the
loop for `STALL_SECONDS` in one turn has stalled it. A kind that has spent its
`StallBudget` is reported while it still stalls, so that no other job of it begins on the loop.
During a stall nothing is claimed, since nothing would begin, and what has been ready for too
long is returned to the queue.

A sample is nobody's when this thread itself came late although the main thread did not compute:
then the machine was too busy, or the process was frozen. Where the handler holds the
interpreter's lock this thread comes late as well, and the main thread did compute.
"""

import asyncio
import sysconfig
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from sys import _current_frames  # pyright: ignore[reportPrivateUsage] - the only way to see another thread's stack
from types import CodeType, FrameType
from typing import cast

from fairlead.job import Claimed
from fairlead.runtime import log
from fairlead.runtime.log_throttle import LogThrottle
from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.child.eager_loop import EagerLoop
from fairlead_worker.child.slots import Slots
from fairlead_worker.child.stall_budget import STALL_SECONDS, StallBudget
from fairlead_worker.ipc.attempt_table import BLOCKS
from fairlead_worker.ipc.messages import LoopBlocked
from fairlead_worker.metrics.counters import Counters

SAMPLE_SECONDS = 0.025
BLOCKED_SECONDS = 1.0
"""A stall of this length is logged while it lasts: its process may not survive it."""
_EXTEND_SECONDS = 1.0
"""How often the deadlines of the others are moved in the database as well."""
_LATE_NS = 50_000_000
_COMPUTED_SHARE = 16
"""A main thread that computed for less than this part of the time was kept from it."""
_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
_PATH_CHARS_MAX = 120


@dataclass(slots=True)
class _Stall:
    """What handlers of one kind have kept the loop for in one turn, and which was the first."""

    turn_ns: int
    attempt: Attempt
    line: str
    ns: int = 0
    counted: bool = False
    reported: bool = False
    marked: Attempt | None = None
    """The one of them that the parent is told of in the attempt table."""


class LoopWatch:
    """Watches one loop; `sample` runs in a thread of its own.

    Args:
        loop: the event loop, which runs in the main thread.
        slots: what is held.
        runner: the code of the coroutine that awaits a handler and has its `attempt`.
        counters: where stalls are counted.
        blocked: called with a kind that stalls the loop for too long.
        return_late: called during a stall, to return what has been ready for too long.
    """

    def __init__(
        self,
        loop: EagerLoop,
        slots: Slots,
        *,
        runner: CodeType,
        counters: Counters,
        blocked: Callable[[LoopBlocked], None],
        return_late: Callable[[int], None],
    ) -> None:
        self._loop, self._slots, self._runner = loop, slots, runner
        self._counters, self._blocked, self._return_late = counters, blocked, return_late
        self._budget, self._throttle = StallBudget(), LogThrottle()
        self._extend_at_ns = 0
        self._armed = threading.Event()
        self._stall: _Stall | None = None
        self._sampled_ns = self._slept_ns = time.monotonic_ns()
        self._computed_ns = 0
        self._log = log.get("worker.loop")

    def arm(self) -> None:
        """Look from now on, until nothing is held. From any thread; a repeat does nothing."""
        if not self._armed.is_set():
            self._armed.set()

    def run(self) -> None:
        """Look for ever."""
        main = threading.main_thread().ident
        assert main is not None
        while True:
            if not self._slots.held:
                if self._stall is not None:
                    self._conclude(self._stall)
                self._armed.clear()
                if not self._slots.held:
                    self._armed.wait()
            self._slept_ns, self._computed_ns = time.monotonic_ns(), _computed_ns(main)
            time.sleep(SAMPLE_SECONDS)
            self.sample(time.monotonic_ns(), main)

    def sample(self, now_ns: int, main: int) -> None:
        """Look once at the loop and, if its turn is long, at what the main thread does."""
        turn_ns = self._loop.turn_ns
        if self._stall is not None and self._stall.turn_ns != turn_ns:
            self._conclude(self._stall)
        began_ns = max(turn_ns, self._sampled_ns)
        self._sampled_ns = now_ns
        if not turn_ns or now_ns - turn_ns < SAMPLE_SECONDS * 1e9:
            return
        late_ns = now_ns - self._slept_ns - int(SAMPLE_SECONDS * 1e9)
        computed_ns = _computed_ns(main) - self._computed_ns
        if late_ns > _LATE_NS and computed_ns < late_ns // _COMPUTED_SHARE:
            return
        found = self._find(_current_frames().get(main))
        if found is None or self._loop.turn_ns != turn_ns:
            return
        self._add(*found, turn_ns=turn_ns, ns=now_ns - began_ns)

    def _add(self, attempt: Attempt, line: str, *, turn_ns: int, ns: int) -> None:
        """Count time as an attempt's own, and spare all others."""
        attempt.stalled_us -= ns // 1000
        self._loop.stalled_us += ns // 1000
        for each in self._slots.running:
            if each is not None and each is not attempt:
                self._slots.move_deadline(each, ns // 1000)
        stall = self._stall
        if stall is not None and stall.attempt.handler.kind != attempt.handler.kind:
            self._conclude(stall)
            stall = None
        if stall is None:
            stall = self._stall = _Stall(turn_ns, attempt, line)
        stall.ns += ns
        if stall.ns >= STALL_SECONDS * 1e9:
            self._act(stall, attempt)

    def _act(self, stall: _Stall, attempt: Attempt) -> None:
        """Keep a stall that goes on from doing more harm than it has done."""
        now_ns = time.monotonic_ns()
        self._slots.loop_stalled = True
        self._return_late(now_ns // 1000)
        self._mark(stall, attempt)
        if now_ns >= self._extend_at_ns:
            self._extend_at_ns = now_ns + int(_EXTEND_SECONDS * 1e9)
            self._extend_others(attempt, now_ns // 1000)
        kind, seconds = stall.attempt.handler.kind, stall.ns / 1e9
        if seconds >= BLOCKED_SECONDS and self._throttle.due(kind, time.monotonic()):
            self._log.warning("loop.blocked", **_named(stall))
        if not stall.reported and self._budget.is_spent(kind, seconds, time.monotonic()):
            stall.reported = True
            self._blocked(LoopBlocked(kind))

    def _mark(self, stall: _Stall, attempt: Attempt) -> None:
        """Count a stall, once, and have the parent read who it is that blocks the loop now."""
        if not stall.counted:
            stall.counted = True
            with self._counters.lock:
                self._counters.kind(attempt.row.queue, attempt.handler.kind).stalls += 1
        if stall.marked is not attempt:
            self._unmark(stall)
            stall.marked = attempt
            self._slots.record_change(attempt, BLOCKS)

    def _unmark(self, stall: _Stall) -> None:
        if stall.marked is not None:
            self._slots.clear_flag(stall.marked, BLOCKS)

    def _extend_others(self, blocker: Attempt, now_us: int) -> None:
        """Move the others' deadlines in the database too, or the leader would take them."""
        for each in self._slots.running:
            if each is not None and each is not blocker and each.deadline_us > now_us:
                each.sink.extend(each, (each.deadline_us - now_us) / 1e6)

    def _conclude(self, stall: _Stall) -> None:
        """Log a stall that is over, or that another kind continues."""
        self._stall = None
        self._unmark(stall)
        self._slots.resume_loop()
        kind, seconds = stall.attempt.handler.kind, stall.ns / 1e9
        if stall.counted and self._budget.stalled(kind, seconds, time.monotonic()):
            self._log.warning("loop.stalled", **_named(stall))

    def _find(self, frame: FrameType | None) -> tuple[Attempt, str] | None:
        """Return the attempt whose code the main thread runs, and the line; None: no one's."""
        inner: list[FrameType] = []
        while frame is not None:
            if frame.f_code is self._runner:
                attempt = frame.f_locals.get("attempt")
                break
            if frame.f_code is _CALLBACK:
                attempt = self._slots.held.get(_running_token(frame))
                break
            inner.append(frame)
            frame = frame.f_back
        else:
            return None
        return (attempt, _line(inner)) if attempt is not None and inner else None


def _named(stall: _Stall) -> dict[str, object]:
    """Return who stalls the loop, for how long by now and where, for the log."""
    return {
        "kind": stall.attempt.handler.kind,
        "tenant": stall.attempt.row.tenant,
        "job": stall.attempt.job_id,
        "seconds": round(stall.ns / 1e9, 3),
        "line": stall.line,
    }


_CALLBACK = asyncio.Handle._run.__code__  # noqa: SLF001 - how a stack shows whose turn it is
_NO_TOKEN = -1


def _running_token(callback: FrameType) -> int:
    """Return whose job a callback of asyncio belongs to, as in a task that a handler made."""
    context = getattr(callback.f_locals.get("self"), "_context", None)
    row = None if context is None else context.get(log.running)
    return _NO_TOKEN if row is None else cast("Claimed", row).token


def _line(inner: list[FrameType]) -> str:
    """Return the innermost line that is no library's, or else the handler's own."""
    own = (each for each in inner if not each.f_code.co_filename.startswith(_LIBRARIES))
    frame = next(own, inner[-1])
    code = frame.f_code
    return f"{code.co_filename[-_PATH_CHARS_MAX:]}:{frame.f_lineno} in {code.co_name}"


def _computed_ns(thread: int) -> int:
    """Return how long a thread has computed, where the system tells; 0 elsewhere."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return 0
    return time.clock_gettime_ns(time.pthread_getcpuclockid(thread))
