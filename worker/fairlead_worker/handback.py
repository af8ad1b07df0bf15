"""Hand attempts back to the queue, and keep asking while somebody has them locked.

What is handed back is counted here, by queue and kind: the child that ran it is dead.

A transaction that is still open may hold an attempt, such as one of the very handler whose
process was killed: the server ends it when it notices. Until then the answer is `locked`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial

from fairlead import log
from fairlead_worker import parent_store
from fairlead_worker.lease import LeaseThread, Reply
from fairlead_worker.ledger_view import Ending
from fairlead_worker.parent_store import Became
from fairlead_worker.series import OTHER
from fairlead_worker.session import Session
from fairlead_worker.tally import Tally
from fairlead_worker.wire import Growth

_AGAIN_SECONDS = 0.5
_UNTOUCHED = ("stale", "locked")
_FOR_GOOD = ("failed", "cancelled")


class HandBacks:
    """What is being handed back.

    Args:
        lease: runs the errands.
    """

    def __init__(self, lease: LeaseThread) -> None:
        self._lease = lease
        self._locked: list[tuple[float, Ending]] = []
        self._clock = 0.0
        self._log = log.get("worker.handback")
        self.pending: frozenset[int] = frozenset()
        self.interrupted: Counter[str] = Counter()
        self.tell: Callable[[Growth], None] = _nobody
        self._tally = Tally()
        self._begun: set[int] = set()

    def begun(self, tokens: Iterable[int]) -> None:
        """Take note of attempts whose start nobody has counted, before they are handed back."""
        self._begun.update(tokens)

    def give(self, endings: Iterable[Ending]) -> None:
        """Hand attempts back as soon as the database answers."""
        wanted = tuple(endings)
        if wanted:
            self.pending |= {each.token for each in wanted}
            self._lease.ask(partial(self._hand_back, wanted))

    def give_unheld(
        self, worker_id: int, claimed_until: datetime, held: frozenset[int]
    ) -> None:
        """Return what a worker has claimed, and neither holds nor is handing back."""
        keep = held | self.pending
        self._lease.ask(partial(self._return_unheld, worker_id, claimed_until, keep))

    def advance(self, now: float) -> None:
        """Ask again for what was locked a while ago."""
        self._clock = now
        due = [ending for at, ending in self._locked if at <= now]
        self._locked = [(at, ending) for at, ending in self._locked if at > now]
        self.give(due)

    def forget(self) -> None:
        """Ask no more: the lease was lost, and its rows are handed back by other means."""
        self._locked.clear()
        self._begun.clear()
        self.pending = frozenset()

    def note(self, became: Iterable[Became]) -> None:
        """Count and say what was handed back, in the parent's loop."""
        seen = tuple(became)
        touched = tuple(each for each in seen if each.became not in _UNTOUCHED)
        self._begun.difference_update(
            each.ending.token for each in seen if each.became == "stale"
        )
        told = Counter((each.ending.ended_as, each.became) for each in touched)
        for (ended_as, state), count in sorted(told.items()):
            self.interrupted[ended_as] += count
            self._log.info("attempts.ended", ended_as=ended_as, became=state, count=count)
        if touched:
            self._lease.ask(partial(self._ask_kinds, touched))

    def _ask_kinds(self, touched: tuple[Became, ...], session: Session) -> Reply:
        found = parent_store.kinds(session, {each.ending.job_id for each in touched})
        return partial(self._count, touched, found)

    def _count(self, touched: tuple[Became, ...], found: Mapping[int, tuple[str, str]]) -> None:
        with self._tally.lock:
            for each in touched:
                queue, kind = found.get(each.ending.job_id, (OTHER, OTHER))
                counts = self._tally.kind(queue, kind)
                counts.ended[each.ending.ended_as] += 1
                counts.started += each.ending.token in self._begun
                if each.became in _FOR_GOOD:
                    counts.finished[each.became] += 1
        self._begun.difference_update(each.ending.token for each in touched)
        growth = self._tally.take()
        if growth is not None:
            self.tell(growth)

    def _hand_back(self, endings: tuple[Ending, ...], session: Session) -> Reply:
        return partial(self._handed_back, endings, parent_store.hand_back(session, endings))

    def _handed_back(self, endings: tuple[Ending, ...], became: tuple[Became, ...]) -> None:
        locked = {each.ending.token for each in became if each.became == "locked"}
        again = self._clock + _AGAIN_SECONDS
        self._locked += [(again, each) for each in endings if each.token in locked]
        self.pending -= {each.token for each in endings} - locked
        self.note(became)

    def _return_unheld(
        self,
        worker_id: int,
        claimed_until: datetime,
        keep: frozenset[int],
        session: Session,
    ) -> Reply:
        became = parent_store.return_unheld(session, worker_id, claimed_until, keep)
        return partial(self.note, became)


def _nobody(_growth: Growth) -> None:
    """Tell nobody: no page shows it."""
