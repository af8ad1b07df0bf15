"""One stream of pending jobs and one lane of streams, as the leader holds them in memory.

A stream is one run of the lane index, (queue, tenant, rank), with a cursor on `seq`; a lane is
what is charged, (queue, tenant), in a band of a pool.
"""

from collections import deque
from collections.abc import Collection, Iterable, Sequence

from fairlead_scheduler.values import AnyHead, HeadsSettings, Stream, Want

_NO_GAP = -1
NOT_ASKED = -2
SKIPPED_MAX = 64
"""How many heads of a lane are passed over when something holds them."""
NEVER_AGES = 1 << 62
PLACES = 1 << 8
"""A place is a pool's times this, plus a band's."""


class StreamHeads:
    """What is known of one stream."""

    __slots__ = (
        "asked_after",
        "asked_round",
        "beyond_seq",
        "cursor",
        "gap",
        "held",
        "lane",
        "more",
        "rank",
        "rate",
        "ready",
        "refill_at",
        "reopened",
        "short",
        "target",
    )

    def __init__(self, lane: "LaneHeads", rank: int, target: int) -> None:
        self.lane = lane
        self.rank = rank
        self.ready: deque[AnyHead] = deque()
        self.cursor = 0
        self.gap = _NO_GAP
        """Above this `seq` and up to the cursor there may be rows that were committed late."""
        self.more = True
        """Whether there may be rows in the database that are not at hand."""
        self.beyond_seq = 0
        """The largest `seq` that showed since the last want: its answer may be too old."""
        self.reopened = False
        """Whether a gap was opened since the last want."""
        self.short = False
        """Whether heads are wanted behind those at hand, all of which are held."""
        self.asked_after = NOT_ASKED
        self.target = target
        self.refill_at = 0
        """When so few heads are left, refills are told."""
        self.held = 0
        """How many heads there would be if none had been taken since the last refill."""
        self.rate = 0.0
        self.asked_round = 0

    @property
    def key(self) -> Stream:
        """The stream's name."""
        return (self.lane.queue, self.lane.tenant, self.rank)

    def adapt(self, now_round: int, settings: HeadsSettings) -> None:
        """Set how many heads to keep from how many were taken since the last refill."""
        if self.short:
            self.target = max(self.target, SKIPPED_MAX)
            return
        if self.asked_after != NOT_ASKED or not self.held:
            return
        left = len(self.ready)
        taken = self.held - left
        self.rate += (taken / max(1, now_round - self.asked_round) - self.rate) / 4
        self.asked_round = now_round
        self.held = left
        if taken and not left:
            self.target = min(settings.per_stream_max, self.target * 2)
        else:
            surplus = self.target - int(4 * self.rate)
            self.target = max(settings.lowest, self.target - max(0, surplus) // 4)

    def open_gap(self, after_seq: int) -> None:
        """Read again what lies above this `seq`, before anything else."""
        self.more = self.reopened = True
        if self.gap == _NO_GAP or after_seq < self.gap:
            self.gap = after_seq

    def note_beyond(self, seq: int) -> None:
        """Say that there is a row beyond the cursor that is not at hand."""
        self.more = True
        self.beyond_seq = max(self.beyond_seq, seq)

    def ask(self, count: int) -> Want:
        """Return what to read next, the gap first."""
        self.asked_after = self.cursor if self.gap == _NO_GAP else min(self.gap, self.cursor)
        self.reopened = False
        self.beyond_seq = 0
        return Want(self.key, self.asked_after, count)

    def take(
        self, heads: Sequence[AnyHead], asked: int, passed: Collection[int] = ()
    ) -> Sequence[AnyHead]:
        """Move the cursor over what was read; returns those that lie in a gap.

        Fewer than `asked` says that the stream ends here, unless something showed meanwhile.
        What is `passed` over is no head.
        """
        full = len(heads) >= asked
        late = [head for head in heads if head[1] <= self.cursor] if self.gap != _NO_GAP else ()
        beyond = heads[len(late) :]
        if beyond:
            self.cursor = beyond[-1][1]
            self.ready.extend([x for x in beyond if x[0] not in passed] if passed else beyond)
        if not self.reopened:
            self.gap = late[-1][1] if late and full and not beyond else _NO_GAP
        self.more = full or self.reopened or self.beyond_seq > self.cursor
        self.asked_after = NOT_ASKED
        self.short = False
        return late

    def merge(self, late: Iterable[AnyHead]) -> int:
        """Put heads in their places by `seq`; returns how many were not there."""
        ready = self.ready
        known = {head[1] for head in ready}
        new = [head for head in late if head[1] not in known]
        if new:
            new.sort(key=seq_of)
            if ready and new[0][1] < ready[-1][1]:
                new = sorted((*ready, *new), key=seq_of)
                ready.clear()
            ready.extend(new)
        return len(ready) - len(known)


class LaneHeads:
    """The streams of one lane, lowest rank (highest priority) first."""

    __slots__ = (
        "ages_us",
        "band",
        "changed",
        "front",
        "place",
        "pool",
        "queue",
        "rank",
        "ready",
        "refill_at",
        "streams",
        "tenant",
        "told",
    )

    def __init__(self, queue: str, tenant: str, place: int = 0) -> None:
        self.queue = queue
        self.tenant = tenant
        self.place = place
        self.pool, self.band = divmod(place, PLACES)
        self.ages_us = NEVER_AGES
        """When somebody will look whether the first head has waited too long."""
        self.streams: list[StreamHeads] = []
        self.changed = False
        self.told = False
        """Whether the lane changes with each head that comes, because more is read of each."""
        self.front: StreamHeads | None = None
        """The stream whose turn it is; None when nothing is pending."""
        self.ready: deque[AnyHead] = deque()
        """Its heads. Who takes from the left tells `Heads.ran_low` at `refill_at`."""
        self.refill_at = 0
        self.rank = 0

    @property
    def key(self) -> tuple[str, str, int]:
        """The lane's name: queue, tenant and place."""
        return (self.queue, self.tenant, self.place)

    def find_front(self) -> None:
        """Find the stream whose turn it is.

        One that has to be read first is waited for: otherwise each refill of a lane would let a
        few jobs of lower priority through.
        """
        for stream in self.streams:
            if stream.ready or stream.more:
                self.show(stream)
                return
        self.front = None
        self.refill_at = 0

    def show(self, stream: StreamHeads) -> None:
        """Let this be the stream from which is taken."""
        self.front, self.ready = stream, stream.ready
        self.refill_at, self.rank = stream.refill_at, stream.rank


def seq_of(head: AnyHead) -> int:
    """Return the place of a head in its lane."""
    return head[1]


def rank_of(stream: StreamHeads) -> int:
    """Return the rank of a stream: the lowest goes first."""
    return stream.rank
