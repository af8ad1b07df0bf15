"""The looks through the heads of lanes during one plan, and what becomes of their lanes."""

from functools import partial

from fairlead_scheduler.books import Lane
from fairlead_scheduler.bounds import KEY, RULE
from fairlead_scheduler.choice import Choice, Found
from fairlead_scheduler.keys import Keys
from fairlead_scheduler.lanes import Heads
from fairlead_scheduler.ledger import Ledger
from fairlead_scheduler.order import OUT
from fairlead_scheduler.streams import SKIPPED_MAX
from fairlead_scheduler.verdicts import concerning, held_by, until_us

_REREAD_US = 60_000_000
AHEAD = 2 * SKIPPED_MAX
"""More is read of a lane's heads when so many are not at hand whose values are known."""


class Choices:
    """How far the heads of lanes have been looked through for those that nothing holds.

    Args:
        ledger: The books.
        heads: What is pending.
        doubtful: Takes the ids of heads that are in flight.
    """

    __slots__ = ("_doubtful", "_heads", "_ledger", "_made")

    def __init__(self, ledger: Ledger, heads: Heads, doubtful: list[int]) -> None:
        self._ledger = ledger
        self._heads = heads
        self._doubtful = doubtful
        self._made: dict[Lane, Choice] = {}

    def of(self, lane: Lane, keys: Keys[Lane]) -> Choice:
        """Return the look through the heads of a lane."""
        choice = self._made.get(lane)
        if choice is None:
            rules = concerning(lane)
            judge = partial(held_by, self._ledger, lane, keys.judged, rules=rules)
            flights = self._ledger.shared.flights
            choice = Choice(lane, keys, flights, judge if rules else None)
            self._made[lane] = choice
        return choice

    def stuck(self, lane: Lane, keys: Keys[Lane]) -> bool:
        """Let a lane leave when none of its heads may go now; whether it does."""
        choice, keyed = self.of(lane, keys), self._ledger.keyed
        found = choice.look(self._doubtful)
        if found == Found.GO:
            return False
        if found == Found.HELD:
            self._hold(lane, keys, choice)
            self._heads.watch(lane.heads, choice.short)
            return True
        if found == Found.READ:
            keyed.starved[lane] = None
            keyed.awaits_values = True
        elif found == Found.JUDGE:
            keyed.unjudged[lane] = None
        self._heads.ran_low(lane.heads)
        run_out(self._ledger, lane)
        return True

    def wait_aged(self, lane: Lane, keys: Keys[Lane], choice: Choice) -> bool:
        """Let a lane leave whose aged jobs are held, or that has none; whether it stays."""
        if choice.blocking or choice.held_by:
            self._hold(lane, keys, choice)
            return False
        return not self._ledger.leaves(lane)

    def _hold(self, lane: Lane, keys: Keys[Lane], choice: Choice) -> None:
        """Hold a lane of whose heads none may go until one of them may again."""
        ledger = self._ledger
        ledger.hold(lane, KEY if choice.blocking else RULE)
        keys.hold(lane, choice.blocking)
        if choice.full:
            self._read_again(lane, choice)
        if choice.held_by & ledger.table.rules.judged:
            ledger.keyed.judge_again(lane, until_us(lane, ledger.now_us))
        elif choice.full:
            ledger.keyed.judge_again(lane, lane.reread_us)

    def _read_again(self, lane: Lane, choice: Choice) -> None:
        """Have heads read again now and then that hold up all behind them.

        Some may be gone, because they have expired or were cancelled, and nobody says so.
        """
        now_us = self._ledger.now_us
        if lane.reread_us > now_us:
            return
        if lane.reread_us:
            choice.forget()
            self._ledger.keyed.unread[lane] = None
        lane.reread_us = now_us + _REREAD_US


def run_out(ledger: Ledger, lane: Lane) -> None:
    """Take a lane out until heads of it arrive, or more is known of them."""
    lane.key = OUT
    if lane.heads.front is None:
        ledger.rest(lane)
