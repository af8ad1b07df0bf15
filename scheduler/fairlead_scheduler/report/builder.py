"""Making a report every few seconds, a little in each tick.

The window lies between the last thirteen snapshots: about a minute, and longer with more lanes
than can be read so often. The service between two snapshots is shared as an ideal fair order
would have shared it: first among the bands, the upper ones before the lower, then among the
branches, then among the accounts of each. A lane that waited all the while would have taken any
amount. One that did not, because it had nothing, or because a bound or a pause blocked it,
wanted what it got.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import TypeVar

from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.ordering.levels.accounts import Account, Branch
from fairlead_scheduler.report.aggregate import Aggregate
from fairlead_scheduler.report.lane_window import BUCKETS, LaneWindow
from fairlead_scheduler.report.maxmin import MaxMinShares, max_min_shares
from fairlead_scheduler.report.snapshot import LedgerSnapshot
from fairlead_scheduler.report.values import FairnessReport

_AT_ONCE = 250
"""Lanes that a tick has time for."""
_LANE_US = 2_000
"""The least time between two snapshots for each lane: one takes about 10 us of processor time,
so that ten thousand, which are read every 20 s, take half of a hundredth of the leader's."""

T = TypeVar("T")


class BranchShares:
    """What the accounts of a branch wanted between two snapshots, and were entitled to.

    The lanes of one account have equal parts of what it was entitled to.
    """

    __slots__ = ("_of_lanes", "_shares", "_together", "level", "served_us")

    def __init__(self) -> None:
        self.served_us = 0
        self._shares = MaxMinShares()
        self._together: dict[Account, MaxMinShares] = {}
        """What the lanes want of accounts that have several."""
        self.level = inf
        """What each account was entitled to for a weight of 1, if it wanted that much."""
        self._of_lanes: dict[Account, float] = {}
        """What each lane of these was entitled to, if it wanted that much."""

    def add(self, lane: Lane, wanted_us: float) -> None:
        """Enter what a lane would have taken; infinity is any amount."""
        account = lane.account
        if len(account.lanes) == 1:
            self._shares.add(wanted_us, account.weight)
        else:
            self._together.setdefault(account, MaxMinShares()).add(wanted_us, 1.0)

    def wanted_us(self) -> float:
        """Return what all would have taken, once every lane has been added."""
        for account, wanted in self._together.items():
            self._shares.add(wanted.total, account.weight)
        return self._shares.total

    def share(self, amount_us: float) -> None:
        """Share what the branch was entitled to among its accounts and their lanes."""
        self.level = self._shares.level(amount_us)
        for account, wanted in self._together.items():
            self._of_lanes[account] = wanted.level(self.level * account.weight)

    def entitled_us(self, lane: Lane) -> float:
        """Return what a lane was entitled to, if it wanted that much."""
        alone = self.level * lane.account.weight
        return self._of_lanes.get(lane.account, alone)


class ReportBuilder:
    """Makes the reports of one leader from snapshots of one pool's ledgers.

    Args:
        period_us: The time from one snapshot to the next, longer with very many lanes.
    """

    def __init__(self, period_us: int) -> None:
        self._period_us = period_us
        self._windows: dict[Lane, LaneWindow] = {}
        self._snapshots_us: deque[int] = deque(maxlen=BUCKETS + 1)
        self._place = 0
        self._begun_us = 0
        self._work: Iterator[FairnessReport | None] | None = None

    def step(self, now_us: int, take: Callable[[], LedgerSnapshot]) -> FairnessReport | None:
        """Go on for a moment; returns a report when one is finished.

        Args:
            now_us: The database's time.
            take: Takes a snapshot of the ledgers.
        """
        if self._work is None:
            span_us = max(self._period_us, len(self._windows) * _LANE_US)
            if self._snapshots_us and 0 <= now_us - self._snapshots_us[-1] < span_us:
                return None
            begun = bool(self._snapshots_us)
            self._work = self._report(take()) if begun else self._begin(take())
        for report in self._work:
            return report
        self._work = None
        return None

    def _begin(self, snapshot: LedgerSnapshot) -> Iterator[FairnessReport | None]:
        """Count from this snapshot on."""
        self._begun_us = snapshot.at_us
        self._snapshots_us.append(snapshot.at_us)
        for some in _parts(snapshot.ended_us):
            for lane, ended_us in some:
                lane.served_us -= ended_us
                window = self._windows[lane] = LaneWindow(lane)
                window.begin(snapshot.running_us.get(lane, 0))
                window.note(snapshot, self._begun_us)
            yield None

    def _report(self, snapshot: LedgerSnapshot) -> Iterator[FairnessReport | None]:
        """Report on the time from the last snapshot to this one; at last, yield the report."""
        begun_us = self._snapshots_us[-1]
        self._snapshots_us.append(snapshot.at_us)
        self._place = (self._place + 1) % BUCKETS
        shares_of: dict[Branch, BranchShares] = {}
        for some in _parts(snapshot.ended_us):
            self._serve(some, snapshot, begun_us, shares_of)
            yield None
        _entitle(shares_of, begun_us)
        yield None
        aggregate = Aggregate(snapshot, since_us=self._snapshots_us[0])
        for windows in _parts(tuple(self._windows.values())):
            self._roll(windows, shares_of, aggregate)
            yield None
        yield from aggregate.report()

    def _serve(
        self,
        some: Iterable[tuple[Lane, int]],
        snapshot: LedgerSnapshot,
        begun_us: int,
        shares_of: dict[Branch, BranchShares],
    ) -> None:
        """Count what lanes were served, and enter what they would have taken."""
        for lane, ended_us in some:
            window = self._windows.get(lane)
            if window is None:
                window = self._windows[lane] = LaneWindow(lane)
            lane.served_us -= ended_us
            window.serve(ended_us, snapshot.running_us.get(lane, 0))
            window.waited = window.waits_since(begun_us)
            branch = lane.account.branch
            shares = shares_of.get(branch)
            if shares is None:
                shares = shares_of[branch] = BranchShares()
            shares.served_us += window.fresh_us
            shares.add(lane, inf if window.waited else window.fresh_us)

    def _roll(
        self,
        some: Iterable[LaneWindow],
        shares_of: Mapping[Branch, BranchShares],
        aggregate: Aggregate,
    ) -> None:
        """Move the window on, and forget lanes that have nothing in it and no job."""
        for window in some:
            lane = window.lane
            shares = shares_of.get(lane.account.branch)
            window.roll(self._place, 0.0 if shares is None else shares.entitled_us(lane))
            window.note(aggregate.snapshot, self._begun_us)
            if window.is_idle:
                del self._windows[lane]
            else:
                aggregate.add(window)


def _entitle(shares_of: Mapping[Branch, BranchShares], begun_us: int) -> None:
    """Share all that was served: bands get theirs in turn, each among its branches."""
    left: float = sum(shares.served_us for shares in shares_of.values())
    for band in sorted({branch.band for branch in shares_of}):
        within = {branch: each for branch, each in shares_of.items() if branch.band == band}
        left -= _entitle_band(within, left, begun_us)


def _entitle_band(
    shares_of: Mapping[Branch, BranchShares], left: float, begun_us: int
) -> float:
    """Share what is left among the branches of a band; returns how much they are entitled to.

    A branch that waited would have taken all that its accounts wanted; any other one wanted
    what it got. What each is entitled to is shared among its accounts.
    """
    wanted = [shares.wanted_us() for shares in shares_of.values()]
    for place, (branch, shares) in enumerate(shares_of.items()):
        if not branch.active or branch.waits_since_us > begun_us:
            wanted[place] = shares.served_us
    amounts = max_min_shares(left, wanted, [branch.weight for branch in shares_of])
    for shares, amount in zip(shares_of.values(), amounts, strict=True):
        shares.share(amount)
    return sum(amounts)


def _parts(each: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield slices that a tick has time for."""
    for begin in range(0, len(each), _AT_ONCE):
        yield each[begin : begin + _AT_ONCE]
