"""Which rules of the policy hold now: their conditions, looked at between two plans.

They are looked at on the loop's own thread. A condition is short and has no loops, so it cannot
take long, and a thread beside it would make the loop wait for the interpreter's lock. One that
takes too long all the same, or has no value, is disabled until another policy comes.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from fairlead.policy.cel import Scope
from fairlead.policy.variables import Workers, clock, everywhere
from fairlead_scheduler import amendment
from fairlead_scheduler.books import Lane
from fairlead_scheduler.chances import CPU_SECONDS_MAX, Chances
from fairlead_scheduler.facts import facts_of
from fairlead_scheduler.judging import Judging
from fairlead_scheduler.ledger import Ledger
from fairlead_scheduler.rulebook import Condition
from fairlead_scheduler.shared import Judge
from fairlead_scheduler.terms import Table
from fairlead_scheduler.views import Disabled

_EVERYWHERE_SECONDS = 1.0
_ROUND_SECONDS = 1.0
_SLICE_SECONDS = 0.05
_SLICE = 150
"""Conditions of lanes that are looked at together: three thousand a second."""
K = TypeVar("K")
Fleet: TypeAlias = Callable[[str | None], Workers]
"""Says which slots a pool has; None: of queues that no pool serves."""
Values: TypeAlias = Sequence[Mapping[str, tuple[object, ...]]]
"""By the pools' places and by zone, the values that are the same for all lanes of a pool."""


class Order(Protocol):
    """Whose lanes rules are for: a pool's order, or those of all pools."""

    @property
    def table(self) -> Table:
        """The terms in force."""
        ...

    @property
    def ledgers(self) -> list[Ledger]:
        """The books."""
        ...

    def judge_by(self, judge: Judge) -> None:
        """Have the rules for single jobs looked at by this."""
        ...


class Clocks(NamedTuple):
    """What looks go by, in seconds; a simulation has others."""

    now: Callable[[], float]
    used: Callable[[], float]
    """How long the thread has worked, whatever held it up."""


class Noted(Protocol):
    """What is counted of rules."""

    def true(self, rule: str, count: int) -> None:
        """Note for how many a rule holds."""
        ...

    def overruns(self, rule: str) -> None:
        """Count a look that took too long."""
        ...

    def errors(self, rule: str) -> None:
        """Count a look that found no value."""
        ...

    def clear(self) -> None:
        """Forget what holds: another policy is in force."""
        ...


class Rulings:
    """Looks at the conditions of the policy in force.

    Args:
        metrics: What it counts.
        tell: Is told of each rule that is disabled.
        clocks: What it goes by.
    """

    def __init__(
        self, metrics: Noted, tell: Callable[[Disabled], None], clocks: Clocks
    ) -> None:
        self._clocks = clocks
        self._metrics = metrics
        self._tell = tell
        self._began_us = 0
        self._begin(Table())

    def _begin(self, table: Table) -> None:
        """Begin with another table: every rule has all its chances."""
        self._table = table
        self._everywhere = list(table.rules.everywhere)
        self._by_lane = list(table.rules.by_lane)
        rules = table.rules
        self._judging = Judging(rules.by_job, rules.labels, self._clocks.used)
        self._true_of_jobs: Counter[str] = Counter()
        self._holding: dict[int, int] = {}
        """By the pools' places, the rules that hold for all whom they are for."""
        self._lifted = 0
        self._chances = Chances()
        self._everywhere_due = self._round_due = self._slice_due = 0.0
        self._lanes: list[Lane] = []
        self._place = 0
        self._metrics.clear()

    def look(self, order: Order, fleet: Fleet, now_us: int) -> None:
        """Let hold what holds now, before the next plan.

        Conditions that ask nothing of lanes are looked at once a second and when a policy
        comes; the others for some lanes twenty times a second, so that each lane's turn comes
        once a second, or later when they are more than three thousand. Those of jobs are looked
        at in the plan, when it is a job's turn.
        """
        self._began_us = self._began_us or now_us
        if order.table is not self._table:
            self._begin(order.table)
        if not self._table.rules:
            return
        now = self._clocks.now()
        ruled: dict[Lane, int] = {}
        if now >= min(self._everywhere_due, self._slice_due):
            values = self._values(order, fleet, now_us)
            if now >= self._everywhere_due:
                self._everywhere_due = now + _EVERYWHERE_SECONDS
                self._look_everywhere(values, _served(order))
            if now >= self._slice_due:
                self._slice_due = now + _SLICE_SECONDS
                self._judge_jobs(order, values, now_us)
                if self._by_lane:
                    ruled = self._look_at(self._next_lanes(order, now), values, now_us)
        if self._lifted:
            ruled |= self._lift(order, ruled)
        amendment.rule(order.ledgers, self._holding, ruled, now_us)

    def _values(self, order: Order, fleet: Fleet, now_us: int) -> Values:
        """Return the values of what no lane has a part in."""
        by_job = self._judging.conditions
        zones = {each.rule.zone for each in (*self._everywhere, *self._by_lane, *by_job)}
        clocks = [(zone, clock(zone, now_us)) for zone in zones]
        pools = [fleet(shared.name) for shared in order.ledgers[0].shared.fleet]
        return [{zone: everywhere(at, workers) for zone, at in clocks} for workers in pools]

    def _look_everywhere(self, values: Values, served: Sequence[int]) -> None:
        """See what holds for all of a pool, once for all pools where slots do not matter.

        It is shown of the pools that are `served`: queues that no pool serves, and pools that
        were, have no workers, so that what asks for free slots would always be shown as true.
        """
        before, self._holding = self._holding, dict.fromkeys(range(len(values)), 0)
        for condition in tuple(self._everywhere):
            rule, bit = condition.rule, condition.bit
            asked = [*self._holding] if rule.reads_workers else [0]
            found = self._ask(condition, {pool: values[pool][rule.zone] for pool in asked})
            if not rule.reads_workers:
                found = dict.fromkeys(self._holding, found[0])
            if condition in self._everywhere:
                for pool in self._holding:
                    holds = found.get(pool, before.get(pool, 0) & bit > 0)
                    self._holding[pool] |= bit if holds else 0
            shown = any(self._holding[pool] & bit for pool in served)
            self._metrics.true(condition.name, int(shown))
        for condition in self._judging.conditions:
            self._metrics.true(condition.name, self._true_of_jobs.pop(condition.name, 0))

    def _judge_jobs(self, order: Order, values: Values, now_us: int) -> None:
        """Take what the looks at jobs took since the last time, and let them go on."""
        judging = self._judging
        if judging.conditions:
            for condition, used, failed, true in judging.spent():
                self._true_of_jobs[condition.name] += true
                self._judge(condition, used=used, failed=failed)
            judging.begin(values, began_us=self._began_us, now_us=now_us)
            order.judge_by(judging.ask)

    def _next_lanes(self, order: Order, now: float) -> list[Lane]:
        """Return the lanes whose turn it is."""
        if self._place >= len(self._lanes) and now >= self._round_due:
            self._lanes, self._place = amendment.ruled_lanes(order.ledgers), 0
            if self._lanes and not any(ledger.stale for ledger in order.ledgers):
                self._round_due = now + _ROUND_SECONDS
            counts = Counter([lane.ruling for lane in self._lanes])
            for condition in self._by_lane:
                holds = (counts[ruling] for ruling in counts if ruling & condition.bit)
                self._metrics.true(condition.name, sum(holds))
        place = self._place
        self._place = place + max(1, _SLICE // len(self._by_lane))
        return self._lanes[place : self._place]

    def _look_at(self, lanes: list[Lane], values: Values, now_us: int) -> dict[Lane, int]:
        """Return which rules hold for each of these lanes; for one without work, none do."""
        ruled: dict[Lane, int] = {}
        known: dict[Lane, tuple[object, ...]] = {}
        for lane in lanes:
            if lane.heads.front is None and not lane.in_flight:
                ruled[lane] = 0
                continue
            facts = facts_of(
                lane, self._table.rules.labels, began_us=self._began_us, now_us=now_us
            )
            if facts is not None:
                known[lane], ruled[lane] = facts, lane.ruling
        for condition in tuple(self._by_lane):
            bit, same = condition.bit, [each[condition.rule.zone] for each in values]
            scopes = {
                lane: same[lane.queue.pool] + facts
                for lane, facts in known.items()
                if lane.rules & bit
            }
            for lane, holds in self._ask(condition, scopes).items():
                ruled[lane] = ruled[lane] | bit if holds else ruled[lane] & ~bit
        return ruled

    def _ask(self, condition: Condition, scopes: Mapping[K, Scope]) -> dict[K, bool]:
        """Return where a condition is true; whoever is left out keeps what it has.

        The thread's own time is what counts against a rule: it may be held up by others.
        """
        answers: dict[K, bool] = {}
        if not scopes:
            return answers
        failed: Exception | None = None
        clocks = self._clocks
        began, until = clocks.used(), clocks.now() + CPU_SECONDS_MAX
        for key, scope in scopes.items():
            try:
                answers[key] = condition.holds(scope)
            except Exception as error:  # noqa: BLE001 - whatever a rule raises, dispatch goes on
                answers[key], failed = False, error
            if clocks.now() >= until:
                if clocks.used() - began >= CPU_SECONDS_MAX:
                    break
                until = clocks.now() + CPU_SECONDS_MAX
        self._judge(condition, used=clocks.used() - began, failed=failed)
        return answers

    def _judge(self, condition: Condition, *, used: float, failed: Exception | None) -> None:
        """Count what went wrong, and disable a rule of which it is enough."""
        if failed is not None:
            self._metrics.errors(condition.name)
        if used >= CPU_SECONDS_MAX:
            self._metrics.overruns(condition.name)
        said = self._chances.judge(condition, used=used, failed=failed)
        if said is not None:
            self._disable(condition, said)

    def _disable(self, condition: Condition, said: str) -> None:
        """Let a rule hold for nobody until another policy comes."""
        self._everywhere = [each for each in self._everywhere if each is not condition]
        self._by_lane = [each for each in self._by_lane if each is not condition]
        self._judging.disable(condition)
        for pool in self._holding:
            self._holding[pool] &= ~condition.bit
        self._lifted |= condition.bit
        self._tell(Disabled(self._table.stored, condition.name, said))

    def _lift(self, order: Order, ruled: Mapping[Lane, int]) -> dict[Lane, int]:
        """Return the lanes for which a disabled rule held, without it."""
        lifted, self._lifted = self._lifted, 0
        now = {
            lane: ruled.get(lane, lane.ruling) for lane in amendment.ruled_lanes(order.ledgers)
        }
        return {lane: ruling & ~lifted for lane, ruling in now.items() if ruling & lifted}


def _served(order: Order) -> list[int]:
    """Return the places of the pools that the policy has."""
    names = order.table.homes.names
    fleet = order.ledgers[0].shared.fleet
    return [each.place for each in fleet if each.name in (names or (each.only,))]
