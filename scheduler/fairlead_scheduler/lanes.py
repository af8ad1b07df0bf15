"""The heads of the lanes: which pending jobs are at hand, and which have to be read next.

A stream is one run of the lane index, (queue, tenant, rank); a lane is what is charged,
(queue, tenant). Each stream has a cursor on `seq` up to which everything has been read, so
that dispatch never walks over the dead index entries of what it has dispatched. Three sources
feed a stream: the refill behind its cursor, the tail of new rows, and what others found late.
A row arrives once, whichever of them is first.

No cursor moves back. Where more rows were committed late than a stream can hold, it remembers a
gap below the cursor, which the next refills read through once.
"""

from collections import deque
from collections.abc import Container, Iterable, Sequence
from itertools import islice

from fairlead_scheduler.values import Found, Head, HeadsSettings, Stream, Want

_AHEAD_MAX = 200_000
"""Rows that refills may deliver before the tail reaches them. Beyond that the tail delivers
some a second time, and dispatch refuses them."""

_NO_GAP = -1
_NOT_ASKED = -2


class StreamHeads:
    """What is known of one stream."""

    __slots__ = (
        "asked_after",
        "cursor",
        "filled_round",
        "gap",
        "heard",
        "held",
        "lane",
        "mark",
        "more",
        "rank",
        "rate",
        "ready",
        "reopened",
        "target",
    )

    def __init__(self, lane: "LaneHeads", rank: int, target: int) -> None:
        self.lane = lane
        self.rank = rank
        self.ready: deque[Head] = deque()
        self.cursor = 0
        self.gap = _NO_GAP
        """Above this `seq` and up to the cursor there may be rows that were committed late."""
        self.more = True
        """Whether there may be rows in the database that are not at hand."""
        self.heard = 0
        """The largest `seq` that showed since the last want: its answer may be too old."""
        self.reopened = False
        """Whether a gap was opened since the last want."""
        self.asked_after = _NOT_ASKED
        self.target = target
        self.mark = 0
        """When so few heads are left, refills are told."""
        self.held = 0
        """How many heads there would be if none had been taken since the last refill."""
        self.rate = 0.0
        self.filled_round = 0

    @property
    def key(self) -> Stream:
        """The stream's name."""
        return (self.lane.queue, self.lane.tenant, self.rank)

    def adapt(self, rounds: int, settings: HeadsSettings) -> None:
        """Set how many heads to keep from how many were taken since the last refill."""
        taken = self.held - len(self.ready)
        self.rate += (taken / max(1, rounds) - self.rate) / 4
        if taken and not self.ready:
            self.target = min(settings.per_stream_max, self.target * 2)
        else:
            surplus = self.target - int(4 * self.rate)
            self.target = max(settings.lowest, self.target - max(0, surplus) // 4)

    def open_gap(self, after_seq: int) -> None:
        """Read again what lies above this `seq`, before anything else."""
        self.more = self.reopened = True
        if self.gap == _NO_GAP or after_seq < self.gap:
            self.gap = after_seq

    def hear(self, seq: int) -> None:
        """Say that there is a row beyond the cursor that is not at hand."""
        self.more = True
        self.heard = max(self.heard, seq)

    def ask(self, count: int) -> Want:
        """Return what to read next, the gap first."""
        self.asked_after = self.cursor if self.gap == _NO_GAP else min(self.gap, self.cursor)
        self.reopened = False
        self.heard = 0
        return Want(self.key, self.asked_after, count)

    def take(self, heads: Sequence[Head], asked: int) -> Sequence[Head]:
        """Move the cursor over what was read; returns those that lie in a gap.

        Fewer than `asked` says that the stream ends here, unless something showed meanwhile.
        """
        full = len(heads) >= asked
        late = [head for head in heads if head[1] <= self.cursor] if self.gap != _NO_GAP else ()
        beyond = heads[len(late) :]
        if beyond:
            self.cursor = beyond[-1][1]
            self.ready.extend(beyond)
        if not self.reopened:
            self.gap = late[-1][1] if late and full and not beyond else _NO_GAP
        self.more = full or self.reopened or self.heard > self.cursor
        self.asked_after = _NOT_ASKED
        return late

    def merge(self, late: Iterable[Head]) -> int:
        """Put heads in their places by `seq`; returns how many were not there."""
        ready = self.ready
        known = {head[1] for head in ready}
        new = [head for head in late if head[1] not in known]
        if new:
            new.sort(key=_seq_of)
            if ready and new[0][1] < ready[-1][1]:
                new = sorted((*ready, *new), key=_seq_of)
                ready.clear()
            ready.extend(new)
        return len(ready) - len(known)


class LaneHeads:
    """The streams of one lane, lowest rank (highest priority) first."""

    __slots__ = ("changed", "front", "mark", "queue", "rank", "ready", "streams", "tenant")

    def __init__(self, queue: str, tenant: str) -> None:
        self.queue = queue
        self.tenant = tenant
        self.streams: list[StreamHeads] = []
        self.changed = False
        self.front: StreamHeads | None = None
        """The stream whose turn it is; None when nothing is pending."""
        self.ready: deque[Head] = deque()
        """Its heads. Who takes from the left tells `Heads.ran_low` when `mark` are left."""
        self.mark = 0
        self.rank = 0

    def turn(self) -> None:
        """Find the stream whose turn it is.

        One that has to be read first is waited for: otherwise each refill of a lane would let a
        few jobs of lower priority through.
        """
        for stream in self.streams:
            if stream.ready or stream.more:
                self.front, self.ready = stream, stream.ready
                self.mark, self.rank = stream.mark, stream.rank
                return
        self.front = None
        self.mark = 0


class Heads:
    """The prefetched heads of one (pool, band). Feeds exactly one `FairOrder`.

    Args:
        settings: How many heads to keep.
        last_id: Where the tail starts.
        in_flight: `FairOrder.in_flight`: what is dispatched is not offered again.
    """

    def __init__(
        self,
        settings: HeadsSettings | None = None,
        *,
        last_id: int = 0,
        in_flight: Container[int] = frozenset(),
    ) -> None:
        self._settings = settings or HeadsSettings()
        self._in_flight = in_flight
        self._streams: dict[Stream, StreamHeads] = {}
        self._lanes: dict[tuple[str, str], LaneHeads] = {}
        self._changed: list[LaneHeads] = []
        self._dry: dict[StreamHeads, None] = {}
        self._low: dict[StreamHeads, None] = {}
        self._ahead: set[int] = set()
        self._tail_id = last_id
        self._round = 0
        self._surveyed = False
        self._total = 0

    @property
    def total(self) -> int:
        """How many heads are held."""
        return self._total

    @property
    def streams(self) -> int:
        """How many streams are known."""
        return len(self._streams)

    def surveyed(self) -> None:
        """Say that a complete scan of the lanes, begun after the tail's start, was `swept`.

        From now on an unknown stream counts as empty, so that the tail's first row of a new
        tenant is a head at once and needs no refill. A repeat changes nothing.
        """
        self._surveyed = True

    def wants(self, streams_max: int) -> tuple[Want, ...]:
        """Return what to read next, streams that ran dry first; call it once per tick.

        Until `filled` answers a want, the next call repeats it.
        """
        self._round += 1
        lowest = self._settings.lowest
        budget = self._settings.budget - self._total
        wants: list[Want] = []
        for stream in islice(self._dry, streams_max):
            count = max(lowest, min(stream.target, budget))
            budget -= count
            wants.append(stream.ask(count))
        for stream in islice(self._low, streams_max - len(wants) if budget > 0 else 0):
            count = min(stream.target - len(stream.ready), budget)
            if count > 0:
                budget -= count
                wants.append(stream.ask(count))
        return tuple(wants)

    def filled(self, stream: Stream, heads: Sequence[Head], asked: int) -> None:
        """Take what was read for a want, in the order of `seq`; fewer than `asked` is the end.

        Call it for every want, also when nothing came back. A repeat changes nothing.
        """
        known = self._streams.get(stream)
        if known is None or known.asked_after == _NOT_ASKED:
            return
        known.adapt(self._round - known.filled_round, self._settings)
        known.filled_round = self._round
        before = len(known.ready)
        late = known.take(heads, asked)
        if late:
            known.merge(self._not_in_flight(late))
        known.held = len(known.ready)
        self._total += known.held - before
        tail_id = self._tail_id
        ahead = [head[0] for head in heads if head[0] > tail_id]
        if ahead:
            self._note_ahead(ahead)
        self._sort(known)
        if not before:
            self._touch(known.lane)

    def discovered(self, rows: Sequence[Found]) -> None:
        """Take new rows from the tail, ascending by id, each id once.

        A stream that is read to its end takes the row as a head; otherwise its refill finds it.
        """
        if not rows:
            return
        ahead = self._ahead
        room = self._settings.per_stream_max
        streams = self._streams
        late: list[Found] = []
        for row in rows:
            job_id, seq, queue, tenant, rank, hint_us, seen_us = row
            if job_id in ahead:
                continue
            stream = streams.get((queue, tenant, rank)) or self._add(queue, tenant, rank)
            if seq <= stream.cursor:
                late.append(row)
            elif not stream.more:
                if len(stream.ready) >= room:
                    stream.hear(seq)
                    self._sort(stream)
                    continue
                stream.cursor = seq
                stream.held += 1
                self._total += 1
                stream.ready.append(Head(job_id, seq, hint_us, seen_us))
                if len(stream.ready) == 1:
                    stream.lane.turn()
                    self._touch(stream.lane)
            else:
                stream.hear(seq)
        self._tail_id = max(self._tail_id, rows[-1][0])
        if ahead:
            self._ahead = {job_id for job_id in ahead if job_id > self._tail_id}
        self.missed(late)

    def missed(self, rows: Iterable[Found]) -> None:
        """Take rows found otherwise: by a probe, a promotion or a recall.

        Rows behind the cursor enter the heads in the order of `seq`, but for those that are
        heads or in flight already; rows ahead of it are left to the refill. No cursor moves
        back.
        """
        late: dict[StreamHeads, list[Head]] = {}
        for job_id, seq, queue, tenant, rank, hint_us, seen_us in rows:
            stream = self._streams.get((queue, tenant, rank)) or self._add(queue, tenant, rank)
            if seq <= stream.cursor:
                late.setdefault(stream, []).append(Head(job_id, seq, hint_us, seen_us))
            else:
                self._hear(stream, seq)
        for stream, heads in late.items():
            self._insert(stream, heads)

    def swept(self, rows: Iterable[Found]) -> None:
        """Take the first pending row of each stream, as a scan over all lanes finds it.

        A row that nothing else has announced shows that the stream has to be read again from
        there, once: others may have been committed late with it.
        """
        for job_id, seq, queue, tenant, rank, _, _ in rows:
            stream = self._streams.get((queue, tenant, rank)) or self._add(queue, tenant, rank)
            if seq > stream.cursor:
                self._hear(stream, seq)
            elif job_id not in self._in_flight and not (
                stream.ready and stream.ready[0][1] <= seq
            ):
                stream.open_gap(seq - 1)
                self._sort(stream)
                self._touch(stream.lane)

    def put_back(self, stream: Stream, head: Head) -> None:
        """Put a head back that was taken and not dispatched. A repeat changes nothing."""
        queue, tenant, rank = stream
        self.missed(
            (Found(head.id, head.seq, queue, tenant, rank, head.hint_us, head.seen_us),)
        )

    def take_changed(self) -> list[LaneHeads]:
        """Return the lanes that may have got or lost work since the last call."""
        changed = self._changed
        self._changed = []
        for lane in changed:
            lane.changed = False
        return changed

    def ran_low(self, lane: LaneHeads) -> None:
        """Heed that a lane's `ready` is down to its `mark`."""
        if lane.front is not None:
            self._sort(lane.front)

    def taken(self, count: int) -> None:
        """Count heads that were taken, from whichever lanes."""
        self._total -= count

    def forget(self, lane: LaneHeads) -> None:
        """Drop a lane that has nothing; it is made anew when a row of it shows."""
        if self._lanes.get((lane.queue, lane.tenant)) is lane:
            del self._lanes[lane.queue, lane.tenant]
            for stream in lane.streams:
                del self._streams[stream.key]

    def _insert(self, stream: StreamHeads, late: Sequence[Head]) -> None:
        late = self._not_in_flight(late)
        if not late:
            return
        if len(stream.ready) + len(late) > self._settings.per_stream_max:
            stream.open_gap(min(head[1] for head in late) - 1)
        else:
            added = stream.merge(late)
            stream.held += added
            self._total += added
        self._sort(stream)
        self._touch(stream.lane)

    def _not_in_flight(self, heads: Iterable[Head]) -> list[Head]:
        return [head for head in heads if head[0] not in self._in_flight]

    def _hear(self, stream: StreamHeads, seq: int) -> None:
        stream.hear(seq)
        self._sort(stream)
        self._touch(stream.lane)

    def _add(self, queue: str, tenant: str, rank: int) -> StreamHeads:
        lane = self._lanes.get((queue, tenant))
        if lane is None:
            lane = self._lanes[queue, tenant] = LaneHeads(queue, tenant)
        settings = self._settings
        fair_share = settings.budget // (2 * len(self._streams) + 1)
        target = max(settings.lowest, min(settings.first, fair_share))
        stream = StreamHeads(lane, rank, target)
        stream.more = not self._surveyed
        stream.filled_round = self._round
        lane.streams.append(stream)
        lane.streams.sort(key=_rank_of)
        self._streams[queue, tenant, rank] = stream
        self._sort(stream)
        self._touch(lane)
        return stream

    def _sort(self, stream: StreamHeads) -> None:
        """Enter the stream where refills look for it, by how low it has run."""
        held = len(stream.ready)
        stream.mark = 0
        if not stream.more:
            self._dry.pop(stream, None)
            self._low.pop(stream, None)
        elif not held:
            self._low.pop(stream, None)
            self._dry[stream] = None
        else:
            self._dry.pop(stream, None)
            if 2 * held <= stream.target:
                self._low[stream] = None
            else:
                self._low.pop(stream, None)
                stream.mark = stream.target // 2
        stream.lane.turn()

    def _touch(self, lane: LaneHeads) -> None:
        if not lane.changed:
            lane.changed = True
            self._changed.append(lane)

    def _note_ahead(self, ids: Sequence[int]) -> None:
        if ids and len(self._ahead) < _AHEAD_MAX:
            self._ahead.update(ids)


def _seq_of(head: Head) -> int:
    return head[1]


def _rank_of(stream: StreamHeads) -> int:
    return stream.rank
