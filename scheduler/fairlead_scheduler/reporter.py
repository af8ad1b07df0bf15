"""Making a report every few seconds, a little in each tick.

The window is what lies between the last thirteen looks: about a minute, and longer with more
lanes than can be looked at so often. The service that there was between two looks is shared as
an ideal fair order would have: first among the bands, the upper ones before the lower, then
among the queues, then among the tenants of each. Who waited all the while would have taken any
amount. Who did not, because it had nothing, or because a bound or a pause held it back, wanted
what it got.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import TypeVar

from fairlead_scheduler.accounts import BUCKETS, Account
from fairlead_scheduler.books import Lane, Queue
from fairlead_scheduler.looks import Look
from fairlead_scheduler.report import Report
from fairlead_scheduler.shares import Wishes, entitled
from fairlead_scheduler.sums import Sums

_AT_ONCE = 250
"""Lanes that a tick has time for."""
_LANE_US = 2_000
"""The least time between two looks for each lane: one takes about 10 us of processor time, so
that ten thousand, which are looked at every 20 s, take half of a hundredth of the leader's."""

T = TypeVar("T")


class Party:
    """The tenants of a queue, between two looks."""

    __slots__ = ("level", "served_us", "wishes")

    def __init__(self) -> None:
        self.served_us = 0
        self.wishes = Wishes()
        self.level = inf
        """What each was entitled to for a weight of 1, if it wanted that much."""


class Reporter:
    """Makes the reports of one leader, from looks at the books of exactly one `FairOrder`.

    Args:
        look_us: How long it is from one look to the next, unless there are so many lanes that
            it is longer.
    """

    def __init__(self, look_us: int) -> None:
        self._look_us = look_us
        self._accounts: dict[Lane, Account] = {}
        self._looks_us: deque[int] = deque(maxlen=BUCKETS + 1)
        self._place = 0
        self._begun_us = 0
        self._work: Iterator[Report | None] | None = None

    def step(self, now_us: int, take: Callable[[], Look]) -> Report | None:
        """Go on for a moment; returns a report when one is finished.

        Args:
            now_us: The database's time.
            take: Looks at the books.
        """
        if self._work is None:
            span_us = max(self._look_us, len(self._accounts) * _LANE_US)
            if self._looks_us and 0 <= now_us - self._looks_us[-1] < span_us:
                return None
            begun = bool(self._looks_us)
            self._work = self._reckon(take()) if begun else self._begin(take())
        for report in self._work:
            return report
        self._work = None
        return None

    def _begin(self, look: Look) -> Iterator[Report | None]:
        """Count from this look on."""
        self._begun_us = look.at_us
        self._looks_us.append(look.at_us)
        for some in _parts(look.ended_us):
            for lane, ended_us in some:
                lane.served_us -= ended_us
                account = self._accounts[lane] = Account(lane)
                account.begin(look.running_us.get(lane, 0))
                account.note(look, self._begun_us)
            yield None

    def _reckon(self, look: Look) -> Iterator[Report | None]:
        """Make a report of what was between the last look and this one; at last, yield it."""
        begun_us = self._looks_us[-1]
        self._looks_us.append(look.at_us)
        self._place = (self._place + 1) % BUCKETS
        parties: dict[Queue, Party] = {}
        for some in _parts(look.ended_us):
            self._serve(some, look, begun_us, parties)
            yield None
        _entitle(parties, begun_us)
        yield None
        sums = Sums(look, since_us=self._looks_us[0])
        for accounts in _parts(tuple(self._accounts.values())):
            self._roll(accounts, parties, sums)
            yield None
        yield from sums.report()

    def _serve(
        self,
        some: Iterable[tuple[Lane, int]],
        look: Look,
        begun_us: int,
        parties: dict[Queue, Party],
    ) -> None:
        """Count what lanes were served, and enter what they would have taken."""
        for lane, ended_us in some:
            account = self._accounts.get(lane)
            if account is None:
                account = self._accounts[lane] = Account(lane)
            lane.served_us -= ended_us
            account.serve(ended_us, look.running_us.get(lane, 0))
            account.waited = account.waits_since(begun_us)
            party = parties.get(lane.queue)
            if party is None:
                party = parties[lane.queue] = Party()
            party.served_us += account.fresh_us
            party.wishes.add(inf if account.waited else account.fresh_us, lane.weight)

    def _roll(
        self, some: Iterable[Account], parties: Mapping[Queue, Party], sums: Sums
    ) -> None:
        """Move the window on, and forget lanes that have nothing in it and nothing to do."""
        for account in some:
            lane = account.lane
            party = parties.get(lane.queue)
            account.roll(self._place, 0.0 if party is None else party.level * lane.weight)
            account.note(sums.look, self._begun_us)
            if account.idle:
                del self._accounts[lane]
            else:
                sums.add(account)


def _entitle(parties: Mapping[Queue, Party], begun_us: int) -> None:
    """Share all that was served: bands have theirs in turn, each among its queues."""
    left: float = sum(party.served_us for party in parties.values())
    for band in sorted({queue.band for queue in parties}):
        within = {queue: party for queue, party in parties.items() if queue.band == band}
        left -= _entitle_band(within, left, begun_us)


def _entitle_band(parties: Mapping[Queue, Party], left: float, begun_us: int) -> float:
    """Share what is left among the queues of a band; returns how much they are entitled to.

    A queue that waited would have taken all that its tenants would have; any other one wanted
    what it got. What each is entitled to is shared among its tenants.
    """
    wanted = [
        party.wishes.total
        if queue.active and queue.waits_since_us <= begun_us
        else party.served_us
        for queue, party in parties.items()
    ]
    amounts = entitled(left, wanted, [queue.weight for queue in parties])
    for party, amount in zip(parties.values(), amounts, strict=True):
        party.level = party.wishes.level(amount)
    return sum(amounts)


def _parts(each: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield what a tick has time for."""
    for begin in range(0, len(each), _AT_ONCE):
        yield each[begin : begin + _AT_ONCE]
