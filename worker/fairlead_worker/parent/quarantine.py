"""Run suspect jobs, under which a process has died, alone in quarantine processes.

The child that claimed a suspect job sends it to the parent and lends a slot for it. From then
on the job is the parent's, even if that child dies. A slot stays lent while any suspect job
runs that needs one; a job that waits for a process returns its slot at once, and one that does
not stop as soon as that is seen, so that other jobs run there, unless children have one slot
each. Only beyond as many waiting jobs as the worker has slots do further ones keep their slots
and so slow claims down: where processes die faster than that, more jobs would only meet the
same end.

A job of a kind with `concurrency=` enters the gate of the child that claimed it before it comes
here, and leaves it when it is here no longer.

The time of a waiting job has not begun, so its deadline is extended while it waits
(`deadline_extender`).
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from fairlead.runtime import log
from fairlead_worker.ipc import messages
from fairlead_worker.ipc.attempt_key import Key
from fairlead_worker.ipc.attempt_table import AttemptEntry
from fairlead_worker.ipc.interruptions import Cause, Died, Interruption
from fairlead_worker.ipc.source import Source
from fairlead_worker.parent.child_handle import ChildHandle
from fairlead_worker.parent.quarantine_process import (
    SNOOZE,
    QuarantineProcess,
    SuspectJob,
    never_ran,
)


@dataclass(frozen=True, slots=True)
class LentSlot:
    """A slot that a child lends, named by the attempt for which it did."""

    sender: ChildHandle
    key: Key


@dataclass(frozen=True, slots=True)
class QuarantineCapacity:
    """How many suspect jobs run at a time, and how many more may wait without slots."""

    processes: int
    waiting_without_slots: int


class Quarantine:
    """The quarantine processes, and the suspect jobs that wait for them.

    Args:
        start: starts a quarantine process.
        capacity: how many there may be.
    """

    def __init__(self, start: Callable[[], ChildHandle], capacity: QuarantineCapacity) -> None:
        self._start, self._capacity = start, capacity
        self._processes: tuple[QuarantineProcess, ...] = ()
        self._waiting: tuple[SuspectJob, ...] = ()
        self._lent_slots: deque[LentSlot] = deque()
        self._senders: dict[Key, ChildHandle] = {}
        """The children in which a gate is kept for an attempt that is here."""
        self._start_at = 0.0
        self._one_at_a_time: frozenset[Source] = frozenset()
        self._log = log.get("worker.quarantine")

    @property
    def children(self) -> tuple[ChildHandle, ...]:
        """The quarantine processes."""
        return tuple(process.child for process in self._processes)

    @property
    def tokens(self) -> frozenset[int]:
        """The attempts that are here, waiting or running."""
        return frozenset(job.token for job in (*self._running(), *self._waiting))

    @property
    def slotless(self) -> int:
        """How many of them have no slot lent for them."""
        return max(0, len(self._running()) + len(self._waiting) - len(self._lent_slots))

    def waiting(self) -> tuple[Key, ...]:
        """Return the attempts that wait, the next one first. From any thread."""
        return tuple(job.key for job in self._waiting)

    def take(self, message: messages.NeedsQuarantine, sender: ChildHandle) -> None:
        """Take over an attempt, and a slot, from the child that claimed it."""
        job = SuspectJob(message.job_id, message.token, message.source, message.suspect)
        self._waiting = (*self._waiting, job)
        self._lent_slots.append(LentSlot(sender, job.key))
        if message.gated:
            self._senders[job.key] = sender

    def advance(self, now: float, *, excluded: frozenset[Key] = frozenset()) -> None:
        """Run waiting jobs where a process is free; start and retire processes as needed.

        Excluded attempts wait for a moment.
        """
        for process in self._processes:
            process.check(now, wanted=bool(self._waiting))
            job = self._choose(process, excluded) if process.is_free else None
            if job is not None:
                self._waiting = tuple(each for each in self._waiting if each is not job)
                process.run(job, now)
        if self._waiting and len(self._processes) < self._capacity.processes:
            self._start_process(now)
        self._return_slots()

    def _choose(
        self, process: QuarantineProcess, excluded: frozenset[Key]
    ) -> SuspectJob | None:
        """Return the first job that suits a process.

        Jobs that need a fresh process go first in one, so that other jobs do not use up the one
        that replaces a process which declined.
        """
        needing_fresh = tuple(job for job in self._waiting if job.needs_fresh)
        if process.is_fresh:
            candidates = needing_fresh or self._waiting
        else:
            candidates = tuple(job for job in self._waiting if not job.needs_fresh)
        busy = self._one_at_a_time.intersection(job.source for job in self._running())
        found = (
            job for job in candidates if job.key not in excluded and job.source not in busy
        )
        return next(found, None)

    def _start_process(self, now: float) -> None:
        """Start one process at a time; the last one may be quick enough for all that waits."""
        if now < self._start_at or any(process.is_fresh for process in self._processes):
            return
        try:
            self._processes = (*self._processes, QuarantineProcess(self._start(), now))
        except OSError as error:
            self._log.error("child.not_started", reason=str(error))
            self._start_at = now + SNOOZE.total_seconds()

    def take_surplus(self, sources: frozenset[Source]) -> tuple[SuspectJob, ...]:
        """Run jobs of these sources one at a time from now on, and take out those that wait.

        One job of each source stays, running or waiting, and so do those that are suspects
        themselves, of which there are never more than processes have died.
        """
        self._one_at_a_time = sources
        here = {job.source for job in self._running()}
        kept, surplus = list[SuspectJob](), list[SuspectJob]()
        for job in sorted(self._waiting, key=_is_no_suspect) if sources else ():
            is_surplus = job.source in sources and job.source in here and not job.suspect
            (surplus if is_surplus else kept).append(job)
            here.add(job.source)
        if surplus:
            self._waiting = tuple(job for job in self._waiting if job in kept)
            self._return_slots()
        return tuple(surplus)

    def job_in(self, child: ChildHandle) -> SuspectJob | None:
        """Return the job that a quarantine process has."""
        return next((each.job for each in self._processes if each.child is child), None)

    def ended(self, message: messages.SuspectEnded, now: float) -> SuspectJob | None:
        """Note that an attempt has ended in its process, and return it."""
        process = self._process_of(message.token)
        if process is None:
            return None
        job = process.job
        process.clear_job(now)
        self._return_slots()
        return job

    def declined(self, message: messages.SuspectDeclined, now: float) -> None:
        """Put an attempt aside for a fresh process, and end the one that declined it."""
        process = self._process_of(message.token)
        if process is not None and process.job is not None:
            self._waiting = (replace(process.job, needs_fresh=True), *self._waiting)
            process.clear_job(now)
            process.retire()

    def process_died(
        self, child: ChildHandle, started: Iterable[AttemptEntry], cause: Cause
    ) -> tuple[Interruption, ...]:
        """Note that a quarantine process is dead; return how its attempt ended."""
        (process,) = (each for each in self._processes if each.child is child)
        self._processes = tuple(each for each in self._processes if each is not process)
        ended = process.died(started, cause)
        if not child.ready and isinstance(cause, Died) and self._waiting:
            first, *rest = self._waiting
            self._waiting = tuple(rest)
            ended = never_ran(first, cause)
        self._return_slots()
        return ended

    def sender_died(self, sender: ChildHandle) -> None:
        """Note that a child is dead, and the slots that it has lent with it."""
        self._lent_slots = deque(slot for slot in self._lent_slots if slot.sender is not sender)
        self._senders = {key: each for key, each in self._senders.items() if each is not sender}

    def withdraw(self, tokens: frozenset[int]) -> tuple[Interruption, ...]:
        """Return those of these attempts that wait, to be handed back."""
        jobs = tuple(job for job in self._waiting if job.token in tokens)
        self._waiting = tuple(job for job in self._waiting if job.token not in tokens)
        self._return_slots()
        return tuple(Interruption(job.job_id, job.token, "returned") for job in jobs)

    def give_up(self) -> tuple[Interruption, ...]:
        """Return whatever waits, to be handed back."""
        return self.withdraw(frozenset(job.token for job in self._waiting))

    def _return_slots(self) -> None:
        """Return the lent slots beyond what runs, or will run as soon as it can.

        And open the gates that were kept for what is here no longer.
        """
        keys = {job.key for job in (*self._running(), *self._waiting)}
        for key in tuple(self._senders):
            if key not in keys:
                self._senders.pop(key).send(messages.SuspectEnded(*key))
        capacity, here = self._capacity, len(keys)
        run = min(here, capacity.processes)
        stuck = sum(process.child.slotless for process in self._processes if process.job)
        needed = run - stuck + max(0, here - run - capacity.waiting_without_slots)
        while len(self._lent_slots) > needed:
            slot = self._lent_slots.popleft()
            slot.sender.send(messages.SlotReturned(*slot.key))

    def _running(self) -> tuple[SuspectJob, ...]:
        return tuple(process.job for process in self._processes if process.job is not None)

    def _process_of(self, token: int) -> QuarantineProcess | None:
        found = (each for each in self._processes if each.job and each.job.token == token)
        return next(found, None)


def _is_no_suspect(job: SuspectJob) -> bool:
    return not job.suspect
