"""All children of one worker: the crew, which claims, and those that run jobs alone."""

from fairlead import log
from fairlead_worker import wire
from fairlead_worker.children import Child
from fairlead_worker.crew import Crew
from fairlead_worker.keys import Key
from fairlead_worker.ledger import CANCELLED, Entry
from fairlead_worker.ledger_view import Fenced, Overran, Stopped, overrunners
from fairlead_worker.orders import Orders
from fairlead_worker.solo import Room, Solo

STOPPED = Stopped("its worker was stopped before it was done")


class Family:
    """Who there is, what runs in them, and what all of them are told.

    Args:
        orders: the worker's settings.
    """

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._log = log.get("worker")
        slots = orders.concurrency * orders.processes
        lone = min(orders.lone_processes, slots)
        self.crew = Crew(orders)
        self.solo = Solo(self._start_alone, Room(processes=lone, places=slots))

    def _start_alone(self) -> Child:
        child = Child(self._orders, alone=True)
        self._log.info("child.started", pid=child.pid, alone=True)
        return child

    # --- who and what there is --------------------------------------------------------------

    @property
    def children(self) -> tuple[Child, ...]:
        """Every child that has not been buried."""
        return (*self.crew.children, *self.solo.children)

    def claiming(self) -> tuple[Child, ...]:
        """Return the children that may have claimed something."""
        return tuple(child for child in self.crew.children if child.ready)

    def entries(self) -> tuple[Entry, ...]:
        """Return what runs. From any thread."""
        return tuple(entry for child in self.children for entry in child.running())

    def cancellable(self) -> tuple[Key, ...]:
        """Return what runs, and what waits to run alone. From any thread."""
        running = tuple(entry.key for entry in self.entries())
        return running + self.solo.waiting()

    @property
    def idle(self) -> bool:
        """Whether every child that there is to be has nothing to do."""
        return self.crew.idle and not self.solo.tokens

    @property
    def ending(self) -> bool:
        """Whether a child is to be dead at a certain moment."""
        return any(child.kill_at is not None for child in self.children)

    # --- what they are told -----------------------------------------------------------------

    def cancel(self, tokens: frozenset[int]) -> None:
        """Tell those of these attempts that run to stop. A repeat tells nobody twice."""
        for child in self.children if tokens else ():
            jobs = tuple(
                entry.key
                for entry in child.running()
                if entry.token in tokens and not entry.flags & CANCELLED
            )
            if jobs:
                child.say(wire.Cancel(jobs))

    def end_overrunners(self, now: float) -> None:
        """End the children in which a handler did not heed its deadline."""
        grace_seconds = self._orders.overrun_grace_seconds
        for child in self.children:
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
        for child in self.children:
            child.say(wire.Lost())
            child.end(Fenced(), within_seconds=within_seconds)
        self.solo.give_up()

    def rest(self) -> None:
        """Have them claim no more, until the crew is told to go. A repeat does nothing."""
        self.crew.rest()

    @property
    def rests(self) -> bool:
        """Whether none of them claims, and nothing is left in any of them."""
        return self.crew.rests and not self.solo.tokens

    def drain(self) -> None:
        """Have them claim no more, and finish what runs."""
        for child in self.children:
            child.say(wire.Drain())
            if not child.ready:  # it holds nothing, and hears nothing yet
                child.end(STOPPED)

    def release(self) -> None:
        """Have them stop what runs, and end."""
        for child in self.children:
            child.say(wire.Release())
            child.cause = child.cause or STOPPED

    def kill(self) -> None:
        """End them at once."""
        for child in self.children:
            child.end(STOPPED)
