"""The heads of the lanes: which pending jobs are at hand, and which have to be read next.

A stream is one run of the lane index, (queue, tenant, rank); a lane is what is charged, (queue,
tenant). Each stream has a cursor on `seq` below which everything has been read, so that dispatch
never walks over the dead index entries of what it has dispatched. Three sources feed a stream: the
refill behind its cursor, the tail of new rows, and what others found late. A row arrives once
whichever of them is first.
"""

from collections.abc import Iterable, Sequence

from fairlead_scheduler.values import Found, Head, HeadsSettings, Stream, Want


class Heads:
    """The prefetched heads of one (pool, band). Feeds exactly one `FairOrder`."""

    def __init__(self, settings: HeadsSettings | None = None) -> None:
        raise NotImplementedError

    @property
    def total(self) -> int:
        """How many heads are held."""
        raise NotImplementedError

    @property
    def streams(self) -> int:
        """How many streams are known."""
        raise NotImplementedError

    def surveyed(self) -> None:
        """Say that a complete scan of the lanes, begun after the tail's start, has been `missed`.

        From now on an unknown stream counts as empty, so that the tail's first row of a new tenant
        is a head at once and needs no refill. A repeat changes nothing.
        """
        raise NotImplementedError

    def wants(self, streams_max: int) -> tuple[Want, ...]:
        """Return what to read next, streams that ran dry first; call it once per tick.

        Until `filled` answers a want, the next call repeats it.
        """
        raise NotImplementedError

    def filled(self, stream: Stream, heads: Sequence[Head], asked: int) -> None:
        """Take what was read for a want, in the order of `seq`; fewer than `asked` ends the stream.

        Call it for every want, also when nothing came back.
        """
        raise NotImplementedError

    def discovered(self, rows: Sequence[Found]) -> None:
        """Take new rows from the tail, ascending by id, each id once.

        A stream that is read to its end takes the row as a head; otherwise its refill will find it.
        """
        raise NotImplementedError

    def missed(self, rows: Iterable[Found]) -> None:
        """Take rows found otherwise: by a probe, the sweep, a promotion or a recall.

        Rows behind the cursor enter the heads in the order of `seq`; no cursor moves back; a row
        that is a head already is left out. One that is in flight is left out by the plan.
        """
        raise NotImplementedError

    def put_back(self, stream: Stream, head: Head) -> None:
        """Put a head back that was popped and not dispatched. A repeat changes nothing."""
        raise NotImplementedError
