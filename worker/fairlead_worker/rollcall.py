"""Find what a dead child had claimed and not started: what is ours and nobody holds.

The ledger knows what had started; the rest is found in the database. A claim may have been
under way when its child died, and so may be one of a child that lives. So the database is asked
for the time first, then every living child for what it holds, between two claims of its own.
What was claimed before that time and is held by nobody, was the dead child's. A claim whose
child had died may still commit a little later, so this is done again after a while.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from fairlead_worker import parent_store, wire
from fairlead_worker.children import Child
from fairlead_worker.lease import LeaseThread, Reply
from fairlead_worker.session import Session

_LOOK_AFTER_SECONDS = (0.0, 1.0, 6.0)
_ANSWER_SECONDS = 10.0


class RollCall:
    """One look at a time; several are planned after each death.

    Args:
        lease: runs the errands.
        children: the claiming children that may hold something now.
        concluded: gets the time until which claims count, and all tokens that are held.
    """

    def __init__(
        self,
        lease: LeaseThread,
        children: Callable[[], tuple[Child, ...]],
        concluded: Callable[[datetime, frozenset[int]], None],
    ) -> None:
        self._lease = lease
        self._children = children
        self._concluded = concluded
        self._looks: list[float] = []
        self._number = 0
        self._under_way_until: float | None = None
        self._claimed_until: datetime | None = None
        self._awaited: set[Child] = set()
        self._held: set[int] = set()

    def plan(self, now: float) -> None:
        """Plan the looks that follow a death."""
        self._looks = sorted({*self._looks, *(now + after for after in _LOOK_AFTER_SECONDS)})

    def cancel(self) -> None:
        """Plan nothing and forget the look under way: the rows are no longer ours."""
        self._looks.clear()
        self._finish()

    def advance(self, now: float) -> None:
        """Begin a look that is due; give one up that was not answered, and plan another."""
        if self._under_way_until is not None and now >= self._under_way_until:
            self._finish()
            self._looks.append(now + _LOOK_AFTER_SECONDS[-1])
        if self._under_way_until is None and self._looks and self._looks[0] <= now:
            self._looks = [at for at in self._looks if at > now]
            self._number += 1
            self._under_way_until = now + _ANSWER_SECONDS
            self._lease.ask(partial(self._ask_time, self._number))

    def answered(self, message: wire.Holds, child: Child) -> None:
        """Take one child's answer."""
        if message.number == self._number and child in self._awaited:
            self._held.update(message.tokens)
            self._awaited.discard(child)
            self._conclude()

    def died(self, child: Child) -> None:
        """Wait no longer for one that cannot answer; its own death has looks planned."""
        if child in self._awaited:
            self._awaited.discard(child)
            self._conclude()

    def _ask_time(self, number: int, session: Session) -> Reply:
        return partial(self._call, number, parent_store.database_time(session))

    def _call(self, number: int, claimed_until: datetime) -> None:
        """Call the roll, now that the database has said what time it is."""
        if number != self._number or self._under_way_until is None:
            return
        self._claimed_until = claimed_until
        self._awaited = set(self._children())
        for child in self._awaited:
            child.say(wire.Roll(number))
        self._conclude()

    def _conclude(self) -> None:
        claimed_until = self._claimed_until
        if claimed_until is not None and not self._awaited:
            held = frozenset(self._held)
            self._finish()
            self._concluded(claimed_until, held)

    def _finish(self) -> None:
        self._under_way_until = self._claimed_until = None
        self._awaited.clear()
        self._held.clear()
