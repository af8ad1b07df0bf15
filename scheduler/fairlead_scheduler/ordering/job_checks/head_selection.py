"""Which head of a lane goes next where keys or rules may block some: the first that may.

A blocked head stays in its place and the ones behind it are checked, up to a number of blocked
heads. The lane is blocked only when all of them are.
"""

from collections.abc import Callable, Container
from enum import Enum, auto
from functools import partial
from itertools import islice

from fairlead_scheduler.limits.blocked_reasons import KEY, KIND, RULE
from fairlead_scheduler.limits.concurrency_keys import ConcurrencyKeys
from fairlead_scheduler.limits.waiting_lanes import OF_KIND, KeyValue
from fairlead_scheduler.ordering.job_checks.job_rules import (
    blocking_rules,
    job_rules_of,
    valid_until_us,
)
from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.pending.cursors import SKIPPED_MAX, StreamHeads
from fairlead_scheduler.pending.heads import Heads


class SelectionResult(Enum):
    """What advancing through the heads ends with."""

    GO = auto()
    """A head may go."""
    READ = auto()
    """The values of the next head have to be read first."""
    EVALUATE = auto()
    """Rules have to be evaluated for the next head, and there is no time left."""
    BLOCKED = auto()
    """Every head that was checked is blocked."""
    NOTHING = auto()
    """No head is at hand."""


class HeadSelection:
    """The place in the heads of one lane during one plan, in which keys only fill up.

    Args:
        lane: Whose heads.
        keys: Of its queue.
        in_flight_jobs: What is in flight.
        evaluate: Returns the rules that block a job, or None while that is not known; None: no
            rules.
    """

    __slots__ = (
        "_evaluate",
        "_in_flight_jobs",
        "_keys",
        "_number",
        "_passed",
        "_place",
        "_streams",
        "blocking",
        "blocking_rules",
    )

    def __init__(
        self,
        lane: Lane,
        keys: ConcurrencyKeys[Lane],
        in_flight_jobs: Container[int],
        evaluate: Callable[[int], int | None] | None,
    ) -> None:
        self._evaluate = evaluate
        self.blocking_rules = 0
        """The rules that block heads which were passed over."""
        self._streams = tuple(lane.heads.streams)
        self.blocking: dict[KeyValue, None] = {}
        """The key values that block some of them."""
        self._keys = keys
        self._in_flight_jobs = in_flight_jobs
        self._number = 0
        self._place = 0
        self._passed = 0

    @property
    def needs_more(self) -> StreamHeads | None:
        """The stream of which more heads have to be read to find one that may go."""
        if self.full or self._number >= len(self._streams):
            return None
        return self._streams[self._number]

    @property
    def full(self) -> bool:
        """Whether so many heads are blocked that the ones behind them are not checked."""
        return self._passed >= SKIPPED_MAX

    def forget(self) -> None:
        """Forget the values of the heads that were passed over: they have to be read again."""
        heads = (head[0] for stream in self._streams for head in stream.ready)
        for job_id in islice(heads, self._passed):
            self._keys.heads.pop(job_id, None)

    def advance(self, doubtful: list[int]) -> SelectionResult:
        """Go on to the next head that may go; heads that are in flight are taken out."""
        while self._passed < SKIPPED_MAX and self._number < len(self._streams):
            stream = self._streams[self._number]
            found = self._advance_in(stream, doubtful)
            if found is not None:
                return found
            if stream.more:
                break
            self._number += 1
            self._place = 0
        return SelectionResult.BLOCKED if self._passed else SelectionResult.NOTHING

    def move_to_front(self) -> StreamHeads:
        """Move the head that may go to the front of its stream; returns the stream."""
        stream, place = self._streams[self._number], self._place
        if place:
            head = stream.ready[place]
            del stream.ready[place]
            stream.ready.appendleft(head)
        return stream

    def put_back(self) -> None:
        """Put the head that was moved to the front back into its place."""
        ready = self._streams[self._number].ready
        ready.insert(self._place, ready.popleft())

    def _advance_in(self, stream: StreamHeads, doubtful: list[int]) -> SelectionResult | None:
        ready, keys = stream.ready, self._keys
        while self._place < len(ready) and self._passed < SKIPPED_MAX:
            job_id = ready[self._place][0]
            values = keys.heads.get(job_id)
            if job_id in self._in_flight_jobs:
                keys.heads.pop(job_id, None)
                del ready[self._place]
                doubtful.append(job_id)
                continue
            if values is None:
                return SelectionResult.READ
            full = keys.first_full(values)
            if full is not None:
                self.blocking[full] = None
            elif self._evaluate is None:
                return SelectionResult.GO
            else:
                rules = self._evaluate(job_id)
                if not rules:
                    return SelectionResult.EVALUATE if rules is None else SelectionResult.GO
                self.blocking_rules |= rules
            self._passed += 1
            self._place += 1
        return None


_REREAD_US = 60_000_000
AHEAD = 2 * SKIPPED_MAX
"""More heads of a lane are read when fewer with known values than this are at hand."""


class HeadSelections:
    """The head selections of one plan, by lane.

    Args:
        ledger: The ledger.
        heads: What is pending.
        doubtful: Takes the ids of heads that are in flight.
    """

    __slots__ = ("_doubtful", "_heads", "_ledger", "_made")

    def __init__(self, ledger: Ledger, heads: Heads, doubtful: list[int]) -> None:
        self._ledger = ledger
        self._heads = heads
        self._doubtful = doubtful
        self._made: dict[Lane, HeadSelection] = {}

    def of(self, lane: Lane, keys: ConcurrencyKeys[Lane]) -> HeadSelection:
        """Return the selection for a lane."""
        selection = self._made.get(lane)
        if selection is None:
            rules = job_rules_of(lane)
            evaluate = partial(
                blocking_rules, self._ledger, lane, keys.rule_results, rules=rules
            )
            in_flight_jobs = self._ledger.context.in_flight_jobs
            selection = HeadSelection(lane, keys, in_flight_jobs, evaluate if rules else None)
            self._made[lane] = selection
        return selection

    def take_out_if_stuck(self, lane: Lane, keys: ConcurrencyKeys[Lane]) -> bool:
        """Take a lane out of its heap if none of its heads may go now; whether it did."""
        selection, key_state = self.of(lane, keys), self._ledger.key_state
        found = selection.advance(self._doubtful)
        if found == SelectionResult.GO:
            return False
        if found == SelectionResult.BLOCKED:
            self._block(lane, keys, selection)
            self._heads.watch(lane.heads, selection.needs_more)
            return True
        if found == SelectionResult.READ:
            key_state.starved[lane] = None
            key_state.awaits_values = True
        elif found == SelectionResult.EVALUATE:
            key_state.unevaluated[lane] = None
        self._heads.ran_low(lane.heads)
        take_out(self._ledger, lane)
        return True

    def wait_aged(
        self, lane: Lane, keys: ConcurrencyKeys[Lane], selection: HeadSelection
    ) -> bool:
        """Take a lane out whose aged jobs are blocked, or that has none; whether it stays."""
        if selection.blocking or selection.blocking_rules:
            self._block(lane, keys, selection)
            return False
        return not self._ledger.deactivate_unless_aged(lane)

    def _block(self, lane: Lane, keys: ConcurrencyKeys[Lane], selection: HeadSelection) -> None:
        """Block a lane none of whose heads may go, until one of them may again."""
        ledger = self._ledger
        by_keys = any(value.place != OF_KIND for value in selection.blocking)
        ledger.block(lane, KEY if by_keys else KIND if selection.blocking else RULE)
        keys.block(lane, selection.blocking)
        if selection.full:
            self._read_again(lane, selection)
        if selection.blocking_rules & ledger.table.rules.evaluated_per_job:
            ledger.key_state.schedule_evaluation(lane, valid_until_us(lane, ledger.now_us))
        elif selection.full:
            ledger.key_state.schedule_evaluation(lane, lane.reread_us)

    def _read_again(self, lane: Lane, selection: HeadSelection) -> None:
        """Have heads that hold up all behind them read again now and then.

        Some may be gone, because they have expired or were cancelled, which no event reports.
        """
        now_us = self._ledger.now_us
        if lane.reread_us > now_us:
            return
        if lane.reread_us:
            selection.forget()
            self._ledger.key_state.unread[lane] = None
        lane.reread_us = now_us + _REREAD_US


def take_out(ledger: Ledger, lane: Lane) -> None:
    """Let a lane have no turns until heads of it arrive, or more is known of them."""
    lane.account.withdraw(lane)
    if lane.heads.stream is None:
        ledger.rest(lane)
