"""Which head of a lane goes next where keys or rules may hold some: the first that may.

A head that is held stays in its place, and those behind it are looked at, up to a number of
held ones: its lane is held only when all of them are.
"""

from collections.abc import Callable, Container
from enum import Enum, auto
from itertools import islice

from fairlead_scheduler.books import Lane
from fairlead_scheduler.keys import Keys, Value
from fairlead_scheduler.streams import SKIPPED_MAX, StreamHeads


class Found(Enum):
    """What a look through the heads ends with."""

    GO = auto()
    """A head may go."""
    READ = auto()
    """The values of the next head have to be read first."""
    JUDGE = auto()
    """Rules have to be looked at for the next head, for which there is no time left."""
    HELD = auto()
    """Every head that was looked at is held."""
    NOTHING = auto()
    """No head is at hand."""


class Choice:
    """The look through the heads of one lane during one plan, in which keys only fill up.

    Args:
        lane: Whose heads.
        keys: Of its queue.
        flights: What is in flight.
        judge: Says which rules hold a job, None while nobody has looked; None: there are none.
    """

    __slots__ = (
        "_flights",
        "_judge",
        "_keys",
        "_number",
        "_passed",
        "_place",
        "_streams",
        "blocking",
        "held_by",
    )

    def __init__(
        self,
        lane: Lane,
        keys: Keys[Lane],
        flights: Container[int],
        judge: Callable[[int], int | None] | None,
    ) -> None:
        self._judge = judge
        self.held_by = 0
        """The rules that hold heads which were passed over."""
        self._streams = tuple(lane.heads.streams)
        self.blocking: dict[Value, None] = {}
        """The values that hold some of them."""
        self._keys = keys
        self._flights = flights
        self._number = 0
        self._place = 0
        self._passed = 0

    @property
    def short(self) -> StreamHeads | None:
        """The stream of which more heads have to be read to find one that may go."""
        if self.full or self._number >= len(self._streams):
            return None
        return self._streams[self._number]

    @property
    def full(self) -> bool:
        """Whether so many heads are held that those behind them are not looked at."""
        return self._passed >= SKIPPED_MAX

    def forget(self) -> None:
        """Forget the values of the heads that were passed over: they have to be read again."""
        heads = (head[0] for stream in self._streams for head in stream.ready)
        for job_id in islice(heads, self._passed):
            self._keys.heads.pop(job_id, None)

    def look(self, doubtful: list[int]) -> Found:
        """Go on to the next head that may go; those that are in flight are taken out."""
        while self._passed < SKIPPED_MAX and self._number < len(self._streams):
            stream = self._streams[self._number]
            found = self._look_in(stream, doubtful)
            if found is not None:
                return found
            if stream.more:
                break
            self._number += 1
            self._place = 0
        return Found.HELD if self._passed else Found.NOTHING

    def bring(self) -> StreamHeads:
        """Bring the head that may go to the front of its stream; returns the stream."""
        stream, place = self._streams[self._number], self._place
        if place:
            head = stream.ready[place]
            del stream.ready[place]
            stream.ready.appendleft(head)
        return stream

    def put_back(self) -> None:
        """Put the head that was brought back into its place."""
        ready = self._streams[self._number].ready
        ready.insert(self._place, ready.popleft())

    def _look_in(self, stream: StreamHeads, doubtful: list[int]) -> Found | None:
        ready, keys = stream.ready, self._keys
        while self._place < len(ready) and self._passed < SKIPPED_MAX:
            job_id = ready[self._place][0]
            values = keys.heads.get(job_id)
            if job_id in self._flights:
                keys.heads.pop(job_id, None)
                del ready[self._place]
                doubtful.append(job_id)
                continue
            if values is None:
                return Found.READ
            full = keys.full(values)
            if full is not None:
                self.blocking[full] = None
            elif self._judge is None:
                return Found.GO
            else:
                rules = self._judge(job_id)
                if not rules:
                    return Found.JUDGE if rules is None else Found.GO
                self.held_by |= rules
            self._passed += 1
            self._place += 1
        return None
