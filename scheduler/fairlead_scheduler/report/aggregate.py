"""From windows to a report: sums over all lanes, and the largest of them by name."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappush, heappushpop, nlargest
from operator import attrgetter
from typing import Final

from fairlead_scheduler.instants import iso_instant
from fairlead_scheduler.ordering.lanes import Lane, Queue
from fairlead_scheduler.report.lane_window import LaneWindow
from fairlead_scheduler.report.maxmin import jain_index
from fairlead_scheduler.report.snapshot import LedgerSnapshot
from fairlead_scheduler.report.values import (
    QUEUES_MAX,
    TENANTS_MAX,
    FairnessReport,
    Group,
    Others,
    QueueShare,
    ServiceReceived,
    TenantShare,
)

_AT_ONCE = 250
"""Tenants that a tick has time to name."""
_LONGEST, _FARTHEST = 5, 5
"""How many tenants that are not among the largest are named because they wait longest, or are
farthest behind: a tenant that gets nothing is not large."""
_LARGEST = TENANTS_MAX - _LONGEST - _FARTHEST


class Largest:
    """The few windows that are first by some size.

    Args:
        places: How many.
        size: What they are measured by.
    """

    def __init__(self, places: int, size: Callable[[LaneWindow], int]) -> None:
        self._places: Final = places
        self._size: Final = size
        self._heap: list[tuple[int, int, LaneWindow]] = []
        self._offered = 0

    def offer(self, window: LaneWindow) -> LaneWindow | None:
        """Take a window, or not; return the one left over. Of equals the earliest stays."""
        self._offered += 1
        entry = (self._size(window), -self._offered, window)
        if len(self._heap) < self._places:
            heappush(self._heap, entry)
            return None
        return heappushpop(self._heap, entry)[2]

    def windows(self) -> list[LaneWindow]:
        """Return the windows that are first, in no order."""
        return [window for _, _, window in self._heap]


class Aggregate:
    """The sums of one window, to which each window adds.

    Args:
        snapshot: The one that ends the window.
        since_us: When the window began.
    """

    def __init__(self, snapshot: LedgerSnapshot, *, since_us: int) -> None:
        self.snapshot = snapshot
        self._since_us = since_us
        self._waits: dict[tuple[str, str], tuple[bool, int]] = {}
        """For each tenant, whether it had a pending job all the time, and how long its oldest
        job has waited; with lanes in several bands it is one tenant."""
        self._largest: list[LaneWindow] = []
        """Accounts that may be named for their size."""
        self._bar_us = -1
        """An window that is no larger may not."""
        self._longest = Largest(_LONGEST, _wait_us)
        self._farthest = Largest(_FARTHEST, _behind_us)
        self._other_waits_us = 0
        self._queues: dict[str, tuple[Queue, int, int]] = {}
        """What each was served and entitled to; several ledgers may have the same queue."""
        self._served_us = self._entitled_us = 0
        self._ratios: list[float] = []
        """What tenants that waited all the time were served over what they were entitled to."""

    def add(self, window: LaneWindow) -> None:
        """Add one window that has anything."""
        if window.size_us <= self._bar_us:
            self._leave_out(window)
        else:
            self._largest.append(window)
            if len(self._largest) >= 2 * _LARGEST:
                self._keep_largest()
        lane, served_us, entitled_us = window.lane, window.served_us, window.entitled_us
        self._served_us += served_us
        self._entitled_us += entitled_us
        queue, before_us, before_due_us = self._queues.get(lane.queue.name, (lane.queue, 0, 0))
        self._queues[queue.name] = (queue, before_us + served_us, before_due_us + entitled_us)
        if entitled_us and window.waits_since(self._since_us):
            self._ratios.append(served_us / entitled_us)
        pending_us = window.pending_us
        noisy = pending_us is not None and pending_us <= self._since_us
        owner, wait_us = lane.owner, window.wait_us or 0
        known = self._waits.get(owner)
        if known is not None:
            noisy, wait_us = noisy or known[0], max(wait_us, known[1])
        self._waits[owner] = (noisy, wait_us)

    def _keep_largest(self) -> None:
        """Keep the largest of those that may be named."""
        self._largest.sort(key=attrgetter("size_us"), reverse=True)
        for window in self._largest[_LARGEST:]:
            self._leave_out(window)
        del self._largest[_LARGEST:]
        if len(self._largest) == _LARGEST:
            self._bar_us = self._largest[-1].size_us

    def _leave_out(self, window: LaneWindow) -> None:
        """Do not name a window, unless it waits long or is far behind."""
        shorter = self._longest.offer(window)
        nearer = None if shorter is None else self._farthest.offer(shorter)
        if nearer is not None:
            self._other_waits_us = max(self._other_waits_us, nearer.wait_us or 0)

    def report(self) -> Iterator[FairnessReport | None]:
        """Make the report, a little in each tick; at last, yield it."""
        self._keep_largest()
        named = [*self._largest, *self._longest.windows(), *self._farthest.windows()]
        owners: dict[tuple[str, str], list[LaneWindow]] = {}
        for window in named:
            lane = window.lane
            owners.setdefault((lane.queue.name, lane.tenant), []).append(window)
        largest = sorted(owners.values(), key=_served_us, reverse=True)
        yield None
        tenants: list[TenantShare] = []
        for begin in range(0, len(largest), _AT_ONCE):
            tenants += map(self._tenant, largest[begin : begin + _AT_ONCE])
            yield None
        yield FairnessReport(
            since_us=self._since_us,
            at_us=self.snapshot.at_us,
            slots=self.snapshot.slots,
            slot_seconds=self._served_us / 1e6,
            jain=jain_index(self._ratios),
            jain_tenants=len(self._ratios),
            noisy=self._group(noisy=True),
            quiet=self._group(noisy=False),
            queues=self._named_queues(),
            tenants=tuple(tenants),
            other=self._others(named, tenants),
        )

    def _tenant(self, windows: Sequence[LaneWindow]) -> TenantShare:
        """Return a tenant by its lanes' windows, blocked by what blocks its oldest job."""
        running, queued = self.snapshot.running, self.snapshot.queued
        lanes = [window.lane for window in windows]
        first = max(windows, key=_wait_us)
        return TenantShare(
            queue=first.lane.queue.name,
            tenant=first.lane.tenant,
            weight=first.lane.weight,
            received=self._received(
                _served_us(windows), sum([each.entitled_us for each in windows])
            ),
            running=sum([running.get(lane, 0) for lane in lanes]),
            queued=sum([queued.get(lane, 0) for lane in lanes]),
            oldest_wait_seconds=None if first.wait_us is None else first.wait_us / 1e6,
            mean_run_seconds=_mean_seconds(max(lanes, key=_samples)),
            blocked_by=first.blocked_by,
            blocked_since=iso_instant(first.blocked_us) if first.blocked_by else None,
        )

    def _group(self, *, noisy: bool) -> Group:
        waits_us = [wait_us for is_noisy, wait_us in self._waits.values() if is_noisy == noisy]
        return Group(len(waits_us), max(waits_us, default=0) / 1e6)

    def _named_queues(self) -> tuple[QueueShare, ...]:
        largest = nlargest(QUEUES_MAX, self._queues.values(), key=_size_us)
        return tuple(
            QueueShare(
                queue=queue.name,
                weight=queue.weight,
                received=self._received(served_us, entitled_us),
                mean_run_seconds=_mean_seconds(queue),
            )
            for queue, served_us, entitled_us in largest
        )

    def _others(self, named: Sequence[LaneWindow], tenants: Sequence[TenantShare]) -> Others:
        """Return the sums of what is not named."""
        running, queued = self.snapshot.running, self.snapshot.queued
        count = len(self._waits) - len(tenants)
        return Others(
            tenants=count,
            received=self._received(
                self._served_us - _served_us(named),
                self._entitled_us - sum(window.entitled_us for window in named),
            ),
            running=sum(running.values()) - sum(each.running for each in tenants),
            queued=sum(queued.values()) - sum(each.queued for each in tenants),
            oldest_wait_seconds=self._other_waits_us / 1e6 if count else None,
        )

    def _received(self, served_us: int, entitled_us: int) -> ServiceReceived:
        return ServiceReceived(
            share=served_us / (self._served_us or 1),
            entitled_share=entitled_us / (self._entitled_us or 1),
            slot_seconds=served_us / 1e6,
            lag_slot_seconds=(served_us - entitled_us) / 1e6,
        )


def _size_us(queue: tuple[Queue, int, int]) -> int:
    return max(queue[1], queue[2])


def _served_us(windows: Iterable[LaneWindow]) -> int:
    return sum([window.served_us for window in windows])


def _wait_us(window: LaneWindow) -> int:
    return -1 if window.wait_us is None else window.wait_us


def _behind_us(window: LaneWindow) -> int:
    return window.entitled_us - window.served_us


def _samples(lane: Lane) -> int:
    return lane.mean.samples


def _mean_seconds(member: Lane | Queue) -> float | None:
    return member.mean.value_us(0) / 1e6 if member.mean.samples else None
