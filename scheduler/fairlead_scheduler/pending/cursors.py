"""The in-memory state of one stream of pending jobs and of one lane of streams.

A stream is one run of the lane index, (queue, tenant, rank), with a cursor on `seq`; a lane is
the unit that is charged, (queue, tenant), in a band of a pool.
"""

from collections import deque
from collections.abc import Collection, Iterable, Sequence

from fairlead_scheduler.pending.values import AnyHead, HeadRequest, HeadsSettings, Stream

_NO_GAP = -(1 << 64)
NOT_ASKED = _NO_GAP - 1
"""Below every place, and below the one before the lowest that a row can have."""
SKIPPED_MAX = 64
"""How many blocked heads of a lane are passed over."""
NEVER_AGES = 1 << 62
PLACES = 1 << 8
"""A place encodes a pool and a band: the pool's number times this, plus the band's."""


class StreamHeads:
    """The heads of one stream, and what is left to read of it."""

    __slots__ = (
        "asked_after",
        "asked_round",
        "beyond_seq",
        "cursor",
        "filled_to",
        "gap",
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
        """Whether the database may have rows that are not prefetched."""
        self.beyond_seq = 0
        """The largest `seq` seen since the last request, whose answer may be older."""
        self.reopened = False
        """Whether a gap was opened since the last request."""
        self.short = False
        """Whether more heads are needed because all prefetched ones are blocked."""
        self.asked_after = NOT_ASKED
        self.target = target
        self.refill_at = 0
        """With this many heads left a refill is requested."""
        self.filled_to = 0
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
        if self.asked_after != NOT_ASKED or not self.filled_to:
            return
        left = len(self.ready)
        taken = self.filled_to - left
        self.rate += (taken / max(1, now_round - self.asked_round) - self.rate) / 4
        self.asked_round = now_round
        self.filled_to = left
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
        """Record that there is a row beyond the cursor that is not prefetched."""
        self.more = True
        self.beyond_seq = max(self.beyond_seq, seq)

    def next_request(self, count: int) -> HeadRequest:
        """Return what to read next, the gap first."""
        self.asked_after = self.cursor if self.gap == _NO_GAP else min(self.gap, self.cursor)
        self.reopened = False
        self.beyond_seq = 0
        return HeadRequest(self.key, self.asked_after, count)

    def take(
        self, heads: Sequence[AnyHead], asked: int, passed: Collection[int] = ()
    ) -> Sequence[AnyHead]:
        """Move the cursor over what was read; returns the heads that lie in a gap.

        Fewer than `asked` means that the stream ends here, unless a row showed meanwhile. Jobs
        in `passed` do not become heads.
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
        """Insert heads in the order of `seq`; returns how many were new.

        A job that was replaced may be there still beside the one that has taken its place.
        """
        ready, before = self.ready, len(self.ready)
        known = {head[:2] for head in ready}
        new = [head for head in late if head[:2] not in known]
        if new:
            new.sort(key=seq_of)
            if ready and new[0][1] < ready[-1][1]:
                new = sorted((*ready, *new), key=seq_of)
                ready.clear()
            ready.extend(new)
        return len(ready) - before


class LaneHeads:
    """The streams of one lane, lowest rank (highest priority) first."""

    __slots__ = (
        "ages_us",
        "band",
        "changed",
        "place",
        "pool",
        "queue",
        "rank",
        "ready",
        "refill_at",
        "stream",
        "streams",
        "tenant",
        "wants_changes",
    )

    def __init__(self, queue: str, tenant: str, place: int = 0) -> None:
        self.queue = queue
        self.tenant = tenant
        self.place = place
        self.pool, self.band = divmod(place, PLACES)
        self.ages_us = NEVER_AGES
        """When aging next checks whether the first head has waited too long."""
        self.streams: list[StreamHeads] = []
        self.changed = False
        self.wants_changes = False
        """Whether each new head changes the lane, because attributes are read of each."""
        self.stream: StreamHeads | None = None
        """The stream to take from; None when nothing is pending."""
        self.ready: deque[AnyHead] = deque()
        """Its heads, taken from the left; `Heads.ran_low` is called at `refill_at`."""
        self.refill_at = 0
        self.rank = 0

    @property
    def key(self) -> tuple[str, str, int]:
        """The lane's name: queue, tenant and place."""
        return (self.queue, self.tenant, self.place)

    def choose_stream(self) -> None:
        """Find the stream to take from.

        A stream that has to be read first blocks those behind it: otherwise each refill of a
        lane would let a few jobs of lower priority through.
        """
        for stream in self.streams:
            if stream.ready or stream.more:
                self.use_stream(stream)
                return
        self.stream = None
        self.refill_at = 0

    def use_stream(self, stream: StreamHeads) -> None:
        """Make this the stream to take from."""
        self.stream, self.ready = stream, stream.ready
        self.refill_at, self.rank = stream.refill_at, stream.rank


def seq_of(head: AnyHead) -> int:
    """Return the place of a head in its lane."""
    return head[1]


def rank_of(stream: StreamHeads) -> int:
    """Return the rank of a stream: the lowest goes first."""
    return stream.rank
