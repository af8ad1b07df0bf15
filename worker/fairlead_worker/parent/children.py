"""All children of one worker: those that claim, and the quarantine processes."""

from fairlead.runtime import log
from fairlead_worker.config import WorkerConfig
from fairlead_worker.ipc import messages
from fairlead_worker.ipc.attempt_key import Key
from fairlead_worker.ipc.attempt_table import CANCELLED, AttemptEntry
from fairlead_worker.ipc.interruptions import Fenced, Overran, Stopped, overrunners
from fairlead_worker.parent.child_handle import ChildHandle
from fairlead_worker.parent.claiming_children import ClaimingChildren
from fairlead_worker.parent.quarantine import Quarantine, QuarantineCapacity

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
        self.claiming = ClaimingChildren(config)
        self.quarantine = Quarantine(
            self._start_quarantine_process,
            QuarantineCapacity(processes=processes, waiting_without_slots=slots),
        )

    def _start_quarantine_process(self) -> ChildHandle:
        child = ChildHandle(self._config, quarantine=True)
        self._log.info("child.started", pid=child.pid, quarantine=True)
        return child

    # --- what there is ----------------------------------------------------------------------

    @property
    def all(self) -> tuple[ChildHandle, ...]:
        """Every child that has not been reaped."""
        return (*self.claiming.children, *self.quarantine.children)

    def holding_claims(self) -> tuple[ChildHandle, ...]:
        """Return the children that may have claimed something."""
        return tuple(child for child in self.claiming.children if child.ready)

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
        return self.claiming.is_idle and not self.quarantine.tokens

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

    def end_overrunners(self, now: float) -> None:
        """End the children in which a handler ignored its deadline."""
        grace_seconds = self._config.overrun_grace_seconds
        for child in self.all:
            over = overrunners(
                child.running(), now_us=int(now * 1e6), grace_us=int(grace_seconds * 1e6)
            )
            if over and child.cause is None:
                tokens = frozenset(entry.token for entry in over)
                jobs = [entry.job_id for entry in over]
                self._log.warning("child.overran", pid=child.pid, jobs=jobs)
                child.end(Overran(tokens, grace_seconds))

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
        return self.claiming.is_paused and not self.quarantine.tokens

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
