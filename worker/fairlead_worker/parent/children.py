"""All children of one worker: those that claim, and the quarantine processes."""

import signal
from collections.abc import Iterable, Sequence

from fairlead.runtime import log
from fairlead_worker.config import WorkerConfig
from fairlead_worker.ipc import messages
from fairlead_worker.ipc.attempt_key import Key
from fairlead_worker.ipc.attempt_table import ASYNC, CANCELLED, EVICTED, AttemptEntry
from fairlead_worker.ipc.interruptions import (
    Died,
    Fenced,
    Overran,
    Stopped,
    Stuck,
    overrunners,
    to_blame,
)
from fairlead_worker.parent.child_handle import ChildHandle
from fairlead_worker.parent.child_template import ChildTemplate
from fairlead_worker.parent.claiming_children import ClaimingChildren
from fairlead_worker.parent.quarantine import Quarantine, QuarantineCapacity
from fairlead_worker.parent.retiring_children import RetiringChildren

STOPPED = Stopped("its worker was stopped before it was done")


class Children:
    """Starts and ends the children, lists what runs in them, and broadcasts to all of them.

    Args:
        config: the worker's settings.
    """

    def __init__(self, config: WorkerConfig) -> None:
        self._config = config
        self._log = log.get("worker")
        slots = config.concurrency * config.processes
        processes = min(config.quarantine_processes, slots)
        self.template = ChildTemplate()
        self.claiming = ClaimingChildren(config, self.template)
        self.retiring = RetiringChildren()
        self.quarantine = Quarantine(
            self._start_quarantine_process,
            QuarantineCapacity(processes=processes, waiting_without_slots=slots),
        )

    def _start_quarantine_process(self) -> ChildHandle:
        child = ChildHandle(self._config, self.template.start_child, quarantine=True)
        self._log.info("child.started", pid=child.pid, quarantine=True)
        return child

    # --- what there is ----------------------------------------------------------------------

    @property
    def all(self) -> tuple[ChildHandle, ...]:
        """Every child that has not been reaped."""
        return (
            *self.claiming.children,
            *self.claiming.spares,
            *self.retiring.children,
            *self.quarantine.children,
        )

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of all processes that somebody here waits for."""
        return (*self.template.pids, *(child.pid for child in self.all))

    def holding_claims(self) -> tuple[ChildHandle, ...]:
        """Return the children that may have claimed something."""
        claiming = tuple(child for child in self.claiming.children if child.ready)
        return claiming + self.retiring.children

    def entries(self) -> tuple[AttemptEntry, ...]:
        """Return what runs. From any thread."""
        return tuple(entry for child in self.all for entry in child.running())

    def cancellable(self) -> tuple[Key, ...]:
        """Return what runs, and what waits for a quarantine process. From any thread."""
        running = tuple(entry.key for entry in self.entries())
        return running + self.quarantine.waiting()

    @property
    def is_idle(self) -> bool:
        """Whether all children have started and have nothing to do."""
        ending = self.quarantine.tokens or self.retiring.children
        return self.claiming.is_idle and not ending

    @property
    def slotless(self) -> int:
        """How many attempts are held without a slot of a child that claims."""
        return self.quarantine.slotless + self.retiring.slotless

    @property
    def is_ending(self) -> bool:
        """Whether a child has a moment at which it is killed."""
        return any(child.kill_at is not None for child in self.all)

    # --- what they are sent -----------------------------------------------------------------

    def cancel(self, tokens: frozenset[int]) -> None:
        """Cancel those of these attempts that run; a repeat sends the message only once."""
        for child in self.all if tokens else ():
            jobs = tuple(
                entry.key
                for entry in child.running()
                if entry.token in tokens and not entry.flags & CANCELLED
            )
            if jobs:
                child.send(messages.Cancel(jobs))

    def evict(self, tokens: frozenset[int]) -> None:
        """Ask those of these attempts that run to make room; a repeat asks each only once."""
        for child in self.all if tokens else ():
            jobs = tuple(
                entry.key
                for entry in child.running()
                if entry.token in tokens and not entry.flags & EVICTED
            )
            if jobs:
                child.send(messages.Evict(jobs))
                ids = [job_id for job_id, _ in jobs]
                self._log.info("attempts.asked_to_make_room", pid=child.pid, jobs=ids)

    def end_overrunners(self, now: float) -> tuple[AttemptEntry, ...]:
        """End the children in which a handler ignored its deadline, and return those handlers.

        Where it runs in a thread, what else runs in its child may end first; where it runs on
        the event loop it may block that, and nothing else there could end. A child that cannot
        stop anything, and does not say why, ends as one that has died.
        """
        found = list[AttemptEntry]()
        now_us, grace_seconds = int(now * 1e6), self._config.overrun_grace_seconds
        for child in self.all:
            known = child.cause.tokens if isinstance(child.cause, Overran) else frozenset[int]()
            over = overrunners(
                child.running(), now_us=now_us, grace_us=int(grace_seconds * 1e6)
            )
            new = [entry for entry in over if entry.token not in known]
            if new and (known or child.cause is None):
                found += self._overrun(child, new, known, grace_seconds)
        self.retiring.advance()
        return tuple(found)

    def allow_connections(self, *, allowed: bool) -> None:
        """Let children open connections, or no more of them. A repeat does nothing."""
        for child in self.all:
            if child.may_connect != allowed:
                child.may_connect = allowed
                child.send(messages.MayConnect(allowed))

    @property
    def is_connected(self) -> bool:
        """Whether one has its connections."""
        return any(child.connected for child in self.all)

    def end_cut_off(self, found: Iterable[tuple[ChildHandle, str]]) -> None:
        """End children that can open no connection, each for this reason."""
        for child, reason in found:
            self._log.error("child.cut_off", pid=child.pid, reason=reason)
            child.end(Died(-signal.SIGKILL, cut_off=True))

    def _overrun(
        self,
        child: ChildHandle,
        over: list[AttemptEntry],
        known: frozenset[int],
        grace_seconds: float,
    ) -> tuple[AttemptEntry, ...]:
        """End a child because of overdue attempts; return those that are to blame."""
        blamed = to_blame(over, child.running())
        if blamed:
            jobs = [entry.job_id for entry in blamed]
            self._log.warning("child.overran", pid=child.pid, jobs=jobs)
            tokens = known.union(entry.token for entry in blamed)
            self._end_overrun(child, Overran(tokens, grace_seconds), blamed)
        elif not known:
            jobs = [entry.job_id for entry in over]
            self._log.warning("child.stuck", pid=child.pid, overdue=jobs)
            child.end(Stuck(grace_seconds))
        return blamed

    def _end_overrun(
        self, child: ChildHandle, cause: Overran, over: Sequence[AttemptEntry]
    ) -> None:
        blocks = any(entry.flags & ASYNC for entry in over)
        if child in self.retiring.children:
            child.cause = cause
        elif not blocks and self.retiring.has_room and self.claiming.give_up(child):
            self.retiring.take(child, cause)
        else:
            child.end(cause)

    def fence(self, *, within_seconds: float) -> None:
        """End every handler within a moment: another worker may run their jobs from now on."""
        for child in self.all:
            child.send(messages.LeaseLost())
            child.end(Fenced(), within_seconds=within_seconds)
        self.quarantine.give_up()

    def pause_claiming(self) -> None:
        """Stop claims until the claiming children may start again. A repeat does nothing."""
        self.claiming.pause()

    @property
    def is_paused(self) -> bool:
        """Whether none of them claims, and none of them holds an attempt."""
        holding = self.quarantine.tokens or self.retiring.children
        return self.claiming.is_paused and not holding

    def drain(self) -> None:
        """Stop claims and let running handlers finish."""
        for child in self.all:
            child.send(messages.Drain())
            if not child.ready:  # it holds nothing, and reads no messages yet
                child.end(STOPPED)

    def release(self) -> None:
        """Stop running handlers, then exit."""
        for child in self.all:
            child.send(messages.Release())
            child.cause = child.cause or STOPPED

    def kill(self) -> None:
        """Kill them at once."""
        for child in self.all:
            child.end(STOPPED)
