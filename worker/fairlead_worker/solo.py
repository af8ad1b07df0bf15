"""Jobs that run alone, each in a process that runs nothing else meanwhile: one of theirs died.

The child that claimed such a job hands it over and lends a slot for it. From then on it is the
parent's, even if that child dies. A slot stays lent while a job runs that needs one, whichever
that is; what waits for a process gives its slot back at once, so that other jobs run there.
Only beyond as many as the worker has slots, what waits keeps them and so holds up claims: where
processes die faster than that, more jobs would only meet the same end.

While a job waits its time has not begun, so its deadline is kept ahead of the clock.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from fairlead import log
from fairlead_worker import wire
from fairlead_worker.children import Child
from fairlead_worker.keys import Key
from fairlead_worker.ledger import Entry
from fairlead_worker.ledger_view import Cause, Died, Ending
from fairlead_worker.seat import REST, Case, Seat, unbegun


@dataclass(frozen=True, slots=True)
class Loan:
    """A slot that a child lends, by the attempt for which it did."""

    sender: Child
    key: Key


@dataclass(frozen=True, slots=True)
class Room:
    """How many jobs run alone at a time, and how many more may wait without slots."""

    processes: int
    places: int


class Solo:
    """The processes that run jobs alone, and the jobs that wait for them.

    Args:
        start: starts such a process.
        room: how many there may be.
    """

    def __init__(self, start: Callable[[], Child], room: Room) -> None:
        self._start, self._room = start, room
        self._seats: tuple[Seat, ...] = ()
        self._waiting: tuple[Case, ...] = ()
        self._loans: deque[Loan] = deque()
        self._start_at = 0.0
        self._log = log.get("worker.solo")

    @property
    def children(self) -> tuple[Child, ...]:
        """The processes that there are."""
        return tuple(seat.child for seat in self._seats)

    @property
    def tokens(self) -> frozenset[int]:
        """The attempts that are here, waiting or running."""
        return frozenset(case.token for case in (*self._running(), *self._waiting))

    @property
    def slotless(self) -> int:
        """How many of them no slot is lent for."""
        return max(0, len(self._running()) + len(self._waiting) - len(self._loans))

    def waiting(self) -> tuple[Key, ...]:
        """Return the attempts that wait, the next one first. From any thread."""
        return tuple(case.key for case in self._waiting)

    def take(self, message: wire.Alone, sender: Child) -> None:
        """Take over an attempt, and a slot, from the child that claimed it."""
        case = Case(message.job_id, message.token)
        self._waiting = (*self._waiting, case)
        self._loans.append(Loan(sender, case.key))

    def next(self, now: float, *, untouchable: frozenset[Key] = frozenset()) -> None:
        """Have what waits run where there is room; start and retire processes as need be.

        What is untouchable has to wait for a moment.
        """
        for seat in self._seats:
            seat.check(now, wanted=bool(self._waiting))
            case = self._choose(seat, untouchable) if seat.free else None
            if case is not None:
                self._waiting = tuple(each for each in self._waiting if each is not case)
                seat.give(case, now)
        if self._waiting and len(self._seats) < self._room.processes:
            self._begin(now)
        self._repay()

    def _choose(self, seat: Seat, untouchable: frozenset[Key]) -> Case | None:
        """Return the first that suits.

        What needs a fresh process goes first in one, so that the one which replaces a process
        that declined is not used up by others.
        """
        needy = tuple(case for case in self._waiting if case.needs_fresh)
        if seat.fresh:
            suits = needy or self._waiting
        else:
            suits = tuple(case for case in self._waiting if not case.needs_fresh)
        return next((case for case in suits if case.key not in untouchable), None)

    def _begin(self, now: float) -> None:
        """Start one process at a time; the last one may be quick enough for all that waits."""
        if now < self._start_at or any(seat.fresh for seat in self._seats):
            return
        try:
            self._seats = (*self._seats, Seat(self._start(), now))
        except OSError as error:
            self._log.error("child.not_started", why=str(error))
            self._start_at = now + REST.total_seconds()

    def ended(self, message: wire.Ended, now: float) -> None:
        """Take note that an attempt has ended in its process."""
        seat = self._seat_of(message.token)
        if seat is not None:
            seat.leave(now)
            self._repay()

    def declined(self, message: wire.Declined, now: float) -> None:
        """Keep an attempt for a fresh process, and end the one that declined it."""
        seat = self._seat_of(message.token)
        if seat is not None and seat.case is not None:
            self._waiting = (replace(seat.case, needs_fresh=True), *self._waiting)
            seat.leave(now)
            seat.retire()

    def bury(self, child: Child, started: Iterable[Entry], cause: Cause) -> tuple[Ending, ...]:
        """Take note that one of the processes is dead; return how its attempt ended."""
        (seat,) = (each for each in self._seats if each.child is child)
        self._seats = tuple(each for each in self._seats if each is not seat)
        ended = seat.bury(started, cause)
        if not child.ready and isinstance(cause, Died) and self._waiting:
            first, *rest = self._waiting
            self._waiting = tuple(rest)
            ended = unbegun(first, cause)
        self._repay()
        return ended

    def bereave(self, sender: Child) -> None:
        """Take note that a child is dead, and the slots that it has lent with it."""
        self._loans = deque(loan for loan in self._loans if loan.sender is not sender)

    def withdraw(self, tokens: frozenset[int]) -> tuple[Ending, ...]:
        """Return those of these attempts that wait, to be handed back."""
        cases = tuple(case for case in self._waiting if case.token in tokens)
        self._waiting = tuple(case for case in self._waiting if case.token not in tokens)
        self._repay()
        return tuple(Ending(case.job_id, case.token, "returned") for case in cases)

    def give_up(self) -> tuple[Ending, ...]:
        """Return whatever waits, to be handed back."""
        return self.withdraw(frozenset(case.token for case in self._waiting))

    def _repay(self) -> None:
        """Give back the slots that are lent beyond what runs, or will as soon as it can."""
        room, here = self._room, len(self._running()) + len(self._waiting)
        run = min(here, room.processes)
        needed = run + max(0, here - run - room.places)
        while len(self._loans) > needed:
            loan = self._loans.popleft()
            loan.sender.say(wire.Settled(*loan.key))

    def _running(self) -> tuple[Case, ...]:
        return tuple(seat.case for seat in self._seats if seat.case is not None)

    def _seat_of(self, token: int) -> Seat | None:
        return next(
            (seat for seat in self._seats if seat.case and seat.case.token == token), None
        )
