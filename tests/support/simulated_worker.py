"""A worker in simulated time: its processes, and what its parent does when one breaks.

Who is a suspect after a death, when a circuit breaker opens, which kinds are moved off the
event loop and which handlers ignored their timeouts is decided by the product's own code.

Left out: evictions (no attempt is asked to make room for another tenant), retries (a failed
job has ended), gates of jobs that run in quarantine, a fresh process for one that has died
there before, orphaned claims and the bound that they set, drains, lost leases, and a lack of
memory.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.child.deadline_watch import STOP_SECONDS
from fairlead_worker.child.stall_budget import StallBudget
from fairlead_worker.ipc.interruptions import overrunners, to_blame
from fairlead_worker.parent.blocking_kinds import BlockingKinds
from fairlead_worker.parent.crash_breaker import CrashBreakers
from fairlead_worker.parent.crash_history import CrashHistory, Present
from fairlead_worker.parent.retiring_children import FINISH_SECONDS, RETIRING_MAX
from tests.support.simulated_jobs import (
    BREAKER,
    HISTORY,
    MS,
    RETIRING,
    SECOND,
    SPARE,
    STAND_IN,
    TEMPLATE,
    Clock,
    JobRow,
    Kind,
    Queue,
)
from tests.support.simulated_process import DEATH_US, Process, Surroundings, bounded

LOOK_US = 25 * MS
"""How often deadlines and stalls are looked at."""
START_US = 80 * MS
"""How long a process takes until it is ready, if it is forked from the template."""
START_ALONE_US = 500 * MS
"""How long it takes as a new interpreter."""
SPARE_US = 3 * MS
"""How long a spare takes to replace one that died."""
REVIEW_US = 60 * MS
"""How long it takes to find the suspects, and to hand back what a dead process had."""
GRACE_US = 5 * SECOND
QUARANTINE_PROCESSES = 4
DEATHS_ALONE_MAX = 3
PUT_OFF_US = 17_500 * MS
"""For how long a job is put off beyond the breaker's time: the middle of a range."""


@dataclass(slots=True)
class _Retiring:
    """A process that finishes what runs in it, but for attempts that do not stop."""

    process: Process
    until_us: int
    tokens: frozenset[int]


class Worker:
    """The worker.

    Args:
        clock: the time.
        queue: where its jobs come from.
        kinds: what its handlers do.
        processes: how many run handlers.
        concurrency: how many slots each of them has.
        without: which defences it does not have.
    """

    def __init__(
        self,
        clock: Clock,
        queue: Queue,
        kinds: Mapping[str, Kind],
        *,
        processes: int,
        concurrency: int,
        without: frozenset[str] = frozenset(),
    ) -> None:
        self._clock, self._queue, self._concurrency = clock, queue, concurrency
        self._waiting_max = processes * concurrency
        """How many suspects may wait without slots."""
        self._beside = Surroundings(clock, queue, self, kinds, without, {})
        self._history, self._breakers = CrashHistory(), CrashBreakers()
        self._blocking, self._budget = BlockingKinds(), StallBudget()
        self._spare_at_us: int | None = None
        """When a spare is ready; None: there is none."""
        self._waiting = deque[Attempt]()
        """Suspects that wait for a process of their own."""
        self._alone: dict[int, JobRow] = {}
        """Those that run in one, by token."""
        self._free_alone = 0
        """How many such processes have nothing to do."""
        self._starts_alone = False
        """Whether one starts: one at a time does."""
        self._stuck = set[int]()
        """Which of those that run in one do not stop."""
        self._lent = deque[tuple[Process, Attempt]]()
        self._retiring: list[_Retiring] = []
        self._start_us = START_US if self._has(TEMPLATE) else START_ALONE_US
        self._processes = [Process(self._beside, concurrency) for _ in range(processes)]
        clock.at(LOOK_US, self._look)

    @property
    def slots(self) -> int:
        """How many slots its processes have; one that claims nothing is replaced."""
        return self._concurrency * len(self._processes)

    @property
    def slotless(self) -> int:
        """How many attempts it holds beside those slots."""
        claiming = sum(process.slots.slotless for process in self._processes)
        suspects = len(self._waiting) + len(self._alone) - len(self._lent)
        retiring = sum(len(each.process.started) for each in self._retiring)
        return claiming + max(0, suspects) + retiring

    def wake(self) -> None:
        """Claim what there is room for."""
        for process in self._processes:
            process.serve()

    def _has(self, defence: str) -> bool:
        return defence not in self._beside.without

    def _row(self, job_id: int) -> JobRow:
        return self._beside.rows[job_id]

    def _look(self) -> None:
        for process in (*self._processes, *(each.process for each in self._retiring)):
            process.look()
            self._end_overrunners(process)
        self._end_retired()
        self._clock.at(self._clock.now_us + LOOK_US, self._look)

    # --- what processes tell ----------------------------------------------------------------

    def runs_alone(self, row: JobRow) -> bool:
        """Whether a job is to run in a process of its own."""
        return row.alone or row.source in self._breakers.open

    def ended(self, row: JobRow) -> None:
        """Count an attempt that ended and left its process alive."""
        self._history.ended([(row.source, 1)])

    def stalls(self, kind: str, seconds: float) -> None:
        """Move a kind off the loop when it has spent its budget."""
        if not self._budget.is_spent(kind, seconds, self._clock.now):
            return
        for_seconds = self._blocking.reported(kind, self._clock.now)
        if for_seconds is not None:
            self._move_kinds()
            self._clock.at(self._clock.now_us + int(for_seconds * SECOND), self._move_kinds)

    def stalled(self, kind: str, seconds: float) -> None:
        """Count a stall that is over."""
        self._budget.stalled(kind, seconds, self._clock.now)

    def _move_kinds(self) -> None:
        """Tell the processes which kinds may not begin on a loop."""
        handlers = self._beside.kinds
        moved = {
            kind: bounded(replace(handlers[kind].handler, runs_on="process"))
            for kind in self._blocking.isolated(self._clock.now)
        }
        for process in self._processes:
            process.slots.moved = moved

    # --- deaths -----------------------------------------------------------------------------

    def died(self, process: Process) -> None:
        """Replace a process that a handler has ended, and judge what ran in it."""
        if not process.is_alive:
            return
        started = process.started
        self._end(process)
        at_us = self._clock.now_us + REVIEW_US
        self._clock.at(at_us, lambda: self._judge(started))
        self._replace(process)
        if self._spare_at_us is None and self._has(SPARE):
            # Not before the replacement is ready.
            self._spare_at_us = self._clock.now_us + 2 * self._start_us

    def _end(self, process: Process) -> None:
        """End a process; what it had not begun comes back soon."""
        process.is_alive = process.claims = False
        self._lent = deque(each for each in self._lent if each[0] is not process)
        unstarted = process.unstarted
        self._clock.at(self._clock.now_us + REVIEW_US, lambda: self._return(unstarted))

    def _return(self, attempts: Iterable[Attempt]) -> None:
        for attempt in attempts:
            self._queue.returned(attempt.job_id)
        self.wake()

    def _replace(self, process: Process) -> None:
        """Start another process in the place of one; the spare, if it is ready, is quick."""
        now_us = self._clock.now_us
        if process not in self._processes:
            return
        self._processes.remove(process)
        takes_us = self._start_us
        if self._spare_at_us is not None:
            takes_us = max(SPARE_US, min(takes_us, self._spare_at_us - now_us))
            self._spare_at_us = now_us + takes_us + self._start_us
        self._clock.at(now_us + takes_us, self._start)

    def _start(self) -> None:
        process = Process(self._beside, self._concurrency)
        process.slots.moved = self._processes[0].slots.moved if self._processes else {}
        self._processes.append(process)
        process.serve()

    def _judge(self, started: Iterable[Attempt]) -> None:
        """Hand back what had started: suspects as crashed, the others as released."""
        rows = {attempt.token: self._row(attempt.job_id) for attempt in started}
        present = [Present(t, x.id, x.source, x.crashes) for t, x in rows.items()]
        suspects = frozenset(rows)
        if self._has(HISTORY) and present:
            verdict = self._history.judge(present, self._clock.now)
            suspects = verdict.suspects
            if verdict.cause is not None and len(present) > 1:
                job_id = min(x.id for x in rows.values() if x.source == verdict.cause)
                self._fault(self._row(job_id), job_id)
        for token, row in rows.items():
            row.crashes += 1
            row.alone |= token in suspects
            self._queue.returned(row.id)
        self.wake()

    def _fault(self, row: JobRow, job_id: int) -> None:
        if self._has(BREAKER):
            self._breakers.fault(row.source, job_id, self._clock.now)

    # --- handlers that ignore their timeouts ------------------------------------------------

    def _end_overrunners(self, process: Process) -> None:
        entries = process.table.read()
        known = next((each for each in self._retiring if each.process is process), None)
        over = overrunners(entries, now_us=self._clock.now_us, grace_us=GRACE_US)
        new = [x for x in over if known is None or x.token not in known.tokens]
        blamed = to_blame(new, entries)
        for entry in blamed:
            self._fault(self._row(entry.job_id), entry.job_id)
        tokens = frozenset(entry.token for entry in blamed)
        if known is not None:
            known.tokens |= tokens
        elif blamed:
            self._retire(process, tokens)

    def _retire(self, process: Process, tokens: frozenset[int]) -> None:
        """Replace a process, and let it finish what else runs in it if there is room."""
        until_us = self._clock.now_us + int(FINISH_SECONDS * SECOND)
        retiring = _Retiring(process, until_us, tokens)
        self._replace(process)
        if len(self._retiring) < RETIRING_MAX and self._has(RETIRING):
            process.claims = False
            process.return_unstarted()
            self._retiring.append(retiring)
        else:
            self._kill(retiring)

    def _end_retired(self) -> None:
        """Kill what has nothing left to finish."""
        for each in tuple(self._retiring):
            left = [x for x in each.process.started if x.token not in each.tokens]
            if not left or self._clock.now_us >= each.until_us:
                self._retiring.remove(each)
                self._kill(each)

    def _kill(self, retiring: _Retiring) -> None:
        """Kill a process: those that it is killed for have failed, the others are released."""
        process = retiring.process
        started = process.started
        self._end(process)
        for attempt in started:
            if attempt.token in retiring.tokens:
                run_us = self._clock.now_us - attempt.entered_us
                self._queue.finished(attempt.job_id, run_us)
            else:
                self._queue.returned(attempt.job_id)
        self.wake()

    # --- suspects that run alone ------------------------------------------------------------

    def quarantine(self, process: Process, attempt: Attempt) -> None:
        """Run an attempt alone as soon as there is a process; its slot is lent as long."""
        self._lent.append((process, attempt))
        self._waiting.append(attempt)
        self._put_off_surplus()
        self._run_alone()

    def _put_off_surplus(self) -> None:
        """Keep one job of each source whose breaker is open, and put the others off."""
        here = {row.source for row in self._alone.values()}
        for attempt in tuple(self._waiting):
            row = self._row(attempt.job_id)
            if row.source not in self._breakers.open:
                continue
            if row.source in here and not row.alone:
                self._waiting.remove(attempt)
                seconds = self._breakers.open_seconds(row.source, self._clock.now)
                until_us = self._clock.now_us + int(seconds * SECOND) + PUT_OFF_US
                self._queue.put_off(row.id, until_us)
            here.add(row.source)

    def _run_alone(self) -> None:
        """Begin what waits for a process, one at a time of a source whose breaker is open."""
        for attempt in tuple(self._waiting):
            row = self._row(attempt.job_id)
            busy = {each.source for each in self._alone.values()} & self._breakers.open
            if self._free_alone and row.source not in busy:
                self._waiting.remove(attempt)
                self._free_alone -= 1
                self._alone[attempt.token] = row
                self._clock.at(self._clock.now_us, partial(self._begin_alone, attempt))
        is_full = len(self._alone) + self._free_alone >= QUARANTINE_PROCESSES
        if self._waiting and not (is_full or self._free_alone or self._starts_alone):
            self._starts_alone = True
            self._clock.at(self._clock.now_us + self._start_us, self._started_alone)
        self._return_slots()

    def _started_alone(self) -> None:
        self._starts_alone = False
        self._free_alone += 1
        self._run_alone()

    def _return_slots(self) -> None:
        """Return the lent slots beyond what runs, or will run as soon as it can."""
        here = len(self._alone) + len(self._waiting)
        run = min(here, QUARANTINE_PROCESSES)
        surplus = max(0, here - run - self._waiting_max)
        while len(self._lent) > run - len(self._stuck) + surplus:
            process, attempt = self._lent.popleft()
            process.slots.return_slot(attempt.key)
            process.serve()

    def _stick(self, attempt: Attempt) -> None:
        """Note that an attempt does not stop: it has no slot from now on."""
        self._stuck.add(attempt.token)
        self._return_slots()

    def _begin_alone(self, attempt: Attempt) -> None:
        row, now_us = self._row(attempt.job_id), self._clock.now_us
        kind = self._beside.kinds[row.kind]
        attempt.entered_us = now_us
        self._queue.began(row.id)
        run_us = DEATH_US if kind.ends_process else row.cost_us
        if kind.never_stops:
            run_us = min(run_us, kind.timeout_us + GRACE_US)
            stuck_us = kind.timeout_us + int(STOP_SECONDS * SECOND)
            if stuck_us < run_us and self._has(STAND_IN):
                self._clock.at(now_us + stuck_us, partial(self._stick, attempt))
        self._clock.at(now_us + run_us, lambda: self._end_alone(attempt))

    def _end_alone(self, attempt: Attempt) -> None:
        """Take the ending of an attempt that ran alone: it is to blame if its process died."""
        row, now = self._alone.pop(attempt.token), self._clock.now
        self._stuck.discard(attempt.token)
        kind = self._beside.kinds[row.kind]
        breaks = kind.ends_process or (kind.never_stops and row.cost_us > kind.timeout_us)
        if breaks:
            self._fault(row, row.id)
        else:
            self._free_alone += 1
            self._history.ended_alone(row.id)
            self._breakers.ended_well(row.source, now)
        if kind.ends_process:
            self._history.caused(row.source, now)
            row.deaths_alone, row.alone = row.deaths_alone + 1, True
        if kind.ends_process and row.deaths_alone < DEATHS_ALONE_MAX:
            self._queue.returned(row.id)
        else:
            self._queue.finished(row.id, max(1, self._clock.now_us - attempt.entered_us))
        self._run_alone()
        self.wake()
