"""The heads of the lanes: which pending jobs are prefetched, and which to read next.

A stream is one run of the lane index, (queue, tenant, rank); a lane is the unit that is
charged, (queue, tenant) in a band of a pool. Each stream has a cursor on `seq` up to which
everything has been read, so that dispatch never walks over the dead index entries of what it
has dispatched. Three sources feed a stream: the refill behind its cursor, the tail of new rows,
and rows that other reads found late. A row arrives once, whichever source is first.

No cursor moves back. Where more rows were committed late than a stream can hold, it remembers a
gap below the cursor, which the next refills read through once.

A tenant has so many streams at most: the jobs of others wait in the database, and the scans of
all lanes find them when there is room. An unknown stream of such a tenant may have any jobs.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice

from fairlead_scheduler.pending.cursors import NOT_ASKED, LaneHeads, StreamHeads, rank_of
from fairlead_scheduler.pending.tenant_turns import TenantTurns
from fairlead_scheduler.pending.values import (
    AnyHead,
    HeadRequest,
    HeadsSettings,
    PendingJob,
    Stream,
)

_AHEAD_MAX = 200_000
"""Rows that refills may deliver before the tail reaches them. Beyond that the tail delivers
some a second time, and dispatch refuses them."""
_COUNT_ROUNDS = 100
"""Ticks between two counts of the streams with work: a count of 100,000 takes 10 ms."""
_CHANGED_AT_ONCE = 1000
"""Changed lanes that a plan has time for: a new one takes several microseconds, and up to a
hundred where its queue is new."""


class Heads:
    """The prefetched heads, lane by lane of each band of each pool. Feeds exactly one order.

    Args:
        settings: How many heads to keep.
        last_id: Where the tail starts.
        in_flight: `FairOrder.in_flight`: what is dispatched is not offered again. What a former
            leader dispatched is to be in it from the start.
        doubtful: `Tail.doubtful`: what is asked about before it is offered again.
    """

    def __init__(
        self,
        settings: HeadsSettings | None = None,
        *,
        last_id: int = 0,
        in_flight: Collection[int] = frozenset(),
        doubtful: Collection[int] = frozenset(),
    ) -> None:
        self._settings = settings or HeadsSettings()
        self._in_flight = in_flight
        self._doubtful = doubtful
        self._adopted = set(in_flight)
        """Jobs in flight that reads may still find as pending, because a former leader
        dispatched them. It shrinks with each scan of the lanes."""
        self._streams: dict[Stream, StreamHeads] = {}
        self._lanes: dict[tuple[str, str, int], LaneHeads] = {}
        self._place_of: Callable[[str, int], int] | None = None
        self._changed: list[LaneHeads] = []
        self._changed_turns = TenantTurns[LaneHeads]()
        """Changed lanes for which the last plans had no time."""
        self._dry: dict[StreamHeads, None] = {}
        self._low: dict[StreamHeads, None] = {}
        self._watched: set[LaneHeads] = set()
        self._ahead: set[int] = set()
        self._tail_id = last_id
        self._round = 0
        self._scanned = False
        self._total = 0
        self._room: dict[str, int] = {}
        """How many streams more a tenant may have; the settings' number of an unknown one."""
        self._crowded: set[str] = set()
        self._were_crowded: set[str] = set()
        """Tenants of which streams were left out since the last scan, and before that."""
        self._counted_round = 0

    @property
    def total(self) -> int:
        """How many heads are prefetched."""
        return self._total

    @property
    def is_behind(self) -> bool:
        """Whether the last plan did not have time for all changed lanes."""
        return bool(self._changed_turns)

    @property
    def streams(self) -> int:
        """How many streams are known."""
        return len(self._streams)

    @property
    def crowded(self) -> frozenset[str]:
        """The tenants that have more streams than are kept."""
        return frozenset(self._crowded | self._were_crowded)

    def record_scan(self) -> None:
        """Record that a complete scan of the lanes, begun after the tail's start, was taken in.

        From now on an unknown stream counts as empty, so that the tail's first row of a new
        tenant is a head at once and needs no refill. A repeat only forgets adopted jobs that
        have ended since.
        """
        self._scanned = True
        self._were_crowded, self._crowded = self._crowded, set()
        self._count_room()
        if self._adopted:
            self._adopted = {job_id for job_id in self._adopted if job_id in self._in_flight}

    def next_requests(self, streams_max: int) -> tuple[HeadRequest, ...]:
        """Return what to read next, streams that ran dry first; call it once per tick.

        Until `filled` answers a request, the next call repeats it.
        """
        self._round += 1
        budget = self._settings.budget - self._total
        fair_share = max(1, budget // (len(self._dry) or 1))
        wants: list[HeadRequest] = []
        for stream in islice(self._dry, streams_max):
            stream.adapt(self._round, self._settings)
            wants.append(stream.next_request(min(stream.target, fair_share)))
            budget -= wants[-1].limit
        for stream in islice(self._low, streams_max - len(wants)):
            # Checking thousands in each tick would cost more than the dispatch.
            if budget <= 0:
                break
            stream.adapt(self._round, self._settings)
            count = min(stream.target - len(stream.ready), budget)
            if count > 0:
                wants.append(stream.next_request(count))
                budget -= count
        return tuple(wants)

    def filled(self, stream: Stream, heads: Sequence[AnyHead], asked: int) -> None:
        """Take the heads read for a request, by `seq`; fewer than `asked` is the stream's end.

        Call it for every request, also when nothing came back. A repeat changes nothing.
        """
        known = self._streams.get(stream)
        if known is None or known.asked_after == NOT_ASKED:
            return
        before = len(known.ready)
        passed = self._still_adopted(heads)
        late = known.take(heads, asked, passed)
        if late:
            known.merge(self._not_known(late))
        added = len(known.ready) - before
        # Jobs passed over count as taken at once: with many of them the next read is larger.
        known.filled_to += added + len(passed)
        self._total += added
        tail_id = self._tail_id
        ahead = [head[0] for head in heads if head[0] > tail_id]
        if ahead:
            self._note_ahead(ahead)
        self._offer_refill(known)
        if not before or known.lane.wants_changes or known.lane in self._watched:
            self._note_changed(known.lane)

    def discovered(self, rows: Sequence[PendingJob]) -> None:
        """Take new rows from the tail, ascending by id, each id once.

        A stream that is read to its end takes the row as a head; otherwise its refill finds it.
        """
        if not rows:
            return
        ahead = self._ahead
        passed = self._still_adopted(rows)
        room = self._settings.per_stream_max
        streams = self._streams
        late: list[PendingJob] = []
        for row in [x for x in rows if x[0] not in passed] if passed else rows:
            job_id, seq, queue, tenant, rank, hint_us, seen_us = row
            stream = streams.get((queue, tenant, rank)) or self._add(queue, tenant, rank)
            if stream is None or job_id in ahead:
                continue
            if seq <= stream.cursor:
                late.append(row)
            elif not stream.more:
                if len(stream.ready) >= room:
                    stream.note_beyond(seq)
                    self._offer_refill(stream)
                    continue
                stream.cursor = seq
                stream.filled_to += 1
                self._total += 1
                stream.ready.append((job_id, seq, hint_us, seen_us))
                if len(stream.ready) == 1:
                    stream.lane.choose_stream()
                    self._note_changed(stream.lane)
                elif stream.lane.wants_changes:
                    self._note_changed(stream.lane)
            else:
                stream.note_beyond(seq)
        self._tail_id = max(self._tail_id, rows[-1][0])
        if ahead:
            self._ahead = {job_id for job_id in ahead if job_id > self._tail_id}
        self._note_watched(rows)
        self.missed(late)

    def missed(self, rows: Iterable[PendingJob]) -> None:
        """Take rows found by a probe, a promotion or a recall.

        Rows behind the cursor enter the heads in the order of `seq`, but for those that are
        heads or in flight already; rows ahead of it are left to the refill. No cursor moves
        back.
        """
        late: dict[StreamHeads, list[AnyHead]] = {}
        for job_id, seq, queue, tenant, rank, hint_us, seen_us in rows:
            stream = self._streams.get((queue, tenant, rank)) or self._add(queue, tenant, rank)
            if stream is None:
                continue
            if seq <= stream.cursor:
                late.setdefault(stream, []).append((job_id, seq, hint_us, seen_us))
            else:
                self._note_beyond(stream, seq)
        for stream, heads in late.items():
            self._insert(stream, heads)

    def scanned_first(self, rows: Iterable[PendingJob], *, again: bool = False) -> None:
        """Take the first pending row of each stream, as a scan over all lanes finds it.

        A row that nothing else has announced shows that the stream has to be read again from
        there, once: others may have been committed late with it. `again` means that it has to
        be whatever the row shows: behind a blocked head there may be jobs that nothing watched
        for.
        """
        for job_id, seq, queue, tenant, rank, _, _ in rows:
            stream = self._streams.get((queue, tenant, rank)) or self._add(queue, tenant, rank)
            if stream is None:
                continue
            known = (stream.ready and stream.ready[0][1] <= seq) or self._is_known(job_id)
            if seq > stream.cursor:
                self._note_beyond(stream, seq)
            elif not known or (again and seq < stream.cursor):
                stream.open_gap(seq - 1)
                self._offer_refill(stream)
                self._note_changed(stream.lane)

    def scanned_last(self, rows: Iterable[PendingJob]) -> None:
        """Take the last pending row of each stream, as such a scan finds it.

        A row beyond the cursor is left to the refill; a row before it is known already, or its
        stream's first row leads to it.
        """
        for _, seq, queue, tenant, rank, _, _ in rows:
            stream = self._streams.get((queue, tenant, rank)) or self._add(queue, tenant, rank)
            if stream is None:
                continue
            if seq > stream.cursor:
                self._note_beyond(stream, seq)

    def moved(self, stream: Stream, ids: Collection[int]) -> None:
        """Drop those of these jobs that are heads of a stream which they have left.

        Ask where they are, and tell `missed`. A repeat changes nothing.
        """
        known = self._streams.get(stream)
        left = [head for head in known.ready if head[0] not in ids] if known else []
        if known is None or len(left) == len(known.ready):
            return
        gone = len(known.ready) - len(left)
        known.ready.clear()
        known.ready.extend(left)
        known.filled_to = max(0, known.filled_to - gone)
        self._total -= gone
        self._offer_refill(known)
        self._note_changed(known.lane)

    def put_back(self, stream: Stream, head: AnyHead) -> None:
        """Put a head back that was taken and not dispatched. A repeat changes nothing."""
        job_id, seq, hint_us, seen_us = head
        self.missed((PendingJob(job_id, seq, *stream, hint_us, seen_us),))

    def take_changed(self) -> list[LaneHeads]:
        """Return the lanes that may have gained or lost work, as many as a plan has time for.

        When these are not all, tenants take turns.
        """
        changed, self._changed = self._changed, []
        turns = self._changed_turns
        if turns or len(changed) > _CHANGED_AT_ONCE:
            for lane in changed:
                turns.put(lane.tenant, lane)
            changed = list[LaneHeads]()
            while len(changed) < _CHANGED_AT_ONCE and (next_lane := turns.take()) is not None:
                changed.append(next_lane)
        for lane in changed:
            lane.changed = False
        if self._watched:
            self._watched.difference_update(changed)
        return changed

    def watch(self, lane: LaneHeads, short: StreamHeads | None) -> None:
        """Record that every prefetched head is blocked: the next new one changes the lane.

        Args:
            lane: The lane.
            short: The stream to read more heads of, if any.
        """
        self._watched.add(lane)
        if short is not None:
            short.short = True
            self._offer_refill(short)

    def withhold(self, stream: Stream, count: int) -> list[int]:
        """Take up to so many heads out again, all but one; returns their ids, to be doubted.

        Those before them in the stream are locked, so these may be as well. `missed` takes back
        those that are not. Where each head's attributes are read none is taken: they would be
        read twice, and those of a job that is gone kept for ever.
        """
        known = self._streams.get(stream)
        if known is None or known.lane.wants_changes:
            return []
        ready = known.ready
        taken = [ready.popleft()[0] for _ in range(min(count, len(ready) - 1))]
        self._total -= len(taken)
        self._offer_refill(known)
        return taken

    def ran_low(self, lane: LaneHeads) -> None:
        """Request a refill: a lane's `ready` is down to its `refill_at`."""
        if lane.stream is not None:
            self._offer_refill(lane.stream)

    def taken(self, count: int) -> None:
        """Count heads that were taken, over all lanes."""
        self._total -= count

    def forget(self, lane: LaneHeads) -> None:
        """Drop a lane without work; it is made anew when a row of it appears."""
        if self._lanes.get(lane.key) is lane:
            del self._lanes[lane.key]
            self._watched.discard(lane)
            for stream in lane.streams:
                del self._streams[stream.key]

    def sort(self, place_of: Callable[[str, int], int] | None) -> None:
        """Sort the streams into places by queue and rank; None puts all of them in the first.

        A lane that loses or gains a stream counts as changed.
        """
        if place_of is None and self._place_of is None:
            return
        self._place_of = place_of
        for stream in self._streams.values():
            before = stream.lane
            lane = self._lane(before.queue, before.tenant, stream.rank)
            if lane is not before:
                before.streams.remove(stream)
                stream.lane = lane
                lane.streams.append(stream)
                lane.streams.sort(key=rank_of)
                for each in (before, lane):
                    each.ready = deque()
                    each.choose_stream()
                    self._note_changed(each)
                if not before.streams:
                    del self._lanes[before.key]

    def _lane(self, queue: str, tenant: str, rank: int) -> LaneHeads:
        """Return the lane of a stream; an unknown one is made."""
        key = (queue, tenant, 0 if self._place_of is None else self._place_of(queue, rank))
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = LaneHeads(*key)
        return lane

    def _insert(self, stream: StreamHeads, late: Sequence[AnyHead]) -> None:
        late = self._not_known(late)
        if not late:
            return
        if len(stream.ready) + len(late) > self._settings.per_stream_max:
            stream.open_gap(min(head[1] for head in late) - 1)
        else:
            added = stream.merge(late)
            stream.filled_to += added
            self._total += added
        self._offer_refill(stream)
        self._note_changed(stream.lane)

    def _not_known(self, heads: Iterable[AnyHead]) -> list[AnyHead]:
        return [head for head in heads if not self._is_known(head[0])]

    def _is_known(self, job_id: int) -> bool:
        """Whether a job is in flight, or asked about: then it comes back by itself."""
        return job_id in self._in_flight or job_id in self._doubtful

    def _still_adopted(self, rows: Iterable[AnyHead | PendingJob]) -> set[int]:
        """Return which of these a former leader dispatched and are still in flight.

        As heads they would be refused once they have ended, as many in each plan as it has room
        for: with room for one, that slot would be idle for as many plans.
        """
        if not self._adopted:
            return set()
        met = self._adopted.intersection([row[0] for row in rows])
        return {job_id for job_id in met if job_id in self._in_flight}

    def _note_beyond(self, stream: StreamHeads, seq: int) -> None:
        stream.note_beyond(seq)
        self._offer_refill(stream)
        self._note_changed(stream.lane)

    def _count_room(self) -> None:
        """Count how many streams more each tenant may have: those without work take no room."""
        most, room = self._settings.tenant_streams_max, dict[str, int]()
        for stream in self._streams.values():
            if stream.ready or stream.more:
                tenant = stream.lane.tenant
                room[tenant] = room.get(tenant, most) - 1
        self._room = {tenant: max(0, left) for tenant, left in room.items()}
        self._counted_round = self._round

    def _add(self, queue: str, tenant: str, rank: int) -> StreamHeads | None:
        """Make a stream; None if its tenant has as many as are kept."""
        settings = self._settings
        most = settings.tenant_streams_max
        if not self._room.get(tenant, most):
            if self._round >= self._counted_round + _COUNT_ROUNDS:
                self._count_room()
            if not self._room.get(tenant, most):
                self._crowded.add(tenant)
                return None
        self._room[tenant] = self._room.get(tenant, most) - 1
        lane = self._lane(queue, tenant, rank)
        fair_share = settings.budget // (2 * len(self._streams) + 1)
        target = max(settings.lowest, min(settings.first, fair_share))
        stream = StreamHeads(lane, rank, target)
        stream.more = (
            not self._scanned or tenant in self._crowded or tenant in self._were_crowded
        )
        stream.asked_round = self._round
        lane.streams.append(stream)
        lane.streams.sort(key=rank_of)
        self._streams[queue, tenant, rank] = stream
        self._offer_refill(stream)
        self._note_changed(lane)
        return stream

    def _offer_refill(self, stream: StreamHeads) -> None:
        """Queue the stream for a refill, by how low it has run."""
        count = len(stream.ready)
        stream.refill_at = 0
        if not stream.more:
            self._dry.pop(stream, None)
            self._low.pop(stream, None)
        elif not count:
            self._low.pop(stream, None)
            self._dry[stream] = None
        else:
            self._dry.pop(stream, None)
            if 2 * count <= stream.target or stream.short:
                self._low[stream] = None
            else:
                self._low.pop(stream, None)
                stream.refill_at = stream.target // 2
        stream.lane.choose_stream()

    def _note_changed(self, lane: LaneHeads) -> None:
        if not lane.changed:
            lane.changed = True
            self._changed.append(lane)

    def _note_watched(self, rows: Sequence[PendingJob]) -> None:
        if self._watched:
            found = (self._streams.get(row[2:5]) for row in rows)
            for lane in self._watched.intersection(each.lane for each in found if each):
                self._note_changed(lane)

    def _note_ahead(self, ids: Sequence[int]) -> None:
        if ids and len(self._ahead) < _AHEAD_MAX:
            self._ahead.update(ids)
