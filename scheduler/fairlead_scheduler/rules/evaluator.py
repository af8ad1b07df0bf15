"""Which rules of the policy apply now: evaluates their conditions between two plans.

Conditions run on the loop's own thread. A condition is short and has no loops, so it cannot
take long, and a thread of its own would make the loop wait for the interpreter's lock. A rule
that takes too long all the same, or has no value, is disabled until another policy is stored.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from fairlead.policy.cel.compiler import Scope
from fairlead.policy.cel.variables import Workers, clock, pool_values
from fairlead_scheduler.ordering import apply_policy
from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.pool_context import JobRuleCheck
from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.policy.rules import Condition
from fairlead_scheduler.rules.circuit_breaker import (
    CPU_SECONDS_MAX,
    CircuitBreaker,
    DisabledRule,
)
from fairlead_scheduler.rules.job_evaluator import JobRuleEvaluator
from fairlead_scheduler.rules.variables import lane_facts

_EVERYWHERE_SECONDS = 1.0
_ROUND_SECONDS = 1.0
_SLICE_SECONDS = 0.05
_SLICE = 150
"""Conditions of lanes evaluated in one slice: three thousand a second."""
K = TypeVar("K")
Fleet: TypeAlias = Callable[[str | None], Workers]
"""Returns the slots of a pool; None stands for queues that no pool serves."""
Values: TypeAlias = Sequence[Mapping[str, tuple[object, ...]]]
"""The values that all lanes of a pool share, by the pool's place and by time zone."""


class RuleTarget(Protocol):
    """The order whose lanes the rules apply to: one pool's, or that of all pools."""

    @property
    def table(self) -> CompiledPolicy:
        """The policy in force."""
        ...

    @property
    def ledgers(self) -> list[Ledger]:
        """The ledgers."""
        ...

    def evaluate_job_rules_with(self, check: JobRuleCheck) -> None:
        """Set what evaluates the rules for single jobs."""
        ...


class EvaluationClocks(NamedTuple):
    """The clocks of evaluation, in seconds; a simulation has others."""

    now: Callable[[], float]
    used: Callable[[], float]
    """The thread's CPU time."""


class RuleCounters(Protocol):
    """The counters of rules."""

    def show_true(self, rule: str, count: int) -> None:
        """Record for how many lanes or jobs a rule's condition is true."""
        ...

    def count_overrun(self, rule: str) -> None:
        """Count an evaluation that took too long."""
        ...

    def count_error(self, rule: str) -> None:
        """Count an evaluation without a value."""
        ...

    def clear(self) -> None:
        """Forget all rules: another policy is in force."""
        ...


class RuleEvaluator:
    """Evaluates the conditions of the policy in force.

    Args:
        metrics: The counters.
        on_disabled: Called with each rule that is disabled.
        clocks: The clocks.
    """

    def __init__(
        self,
        metrics: RuleCounters,
        on_disabled: Callable[[DisabledRule], None],
        clocks: EvaluationClocks,
    ) -> None:
        self._clocks = clocks
        self._metrics = metrics
        self._on_disabled = on_disabled
        self._began_us = 0
        self._begin(CompiledPolicy())

    def _begin(self, table: CompiledPolicy) -> None:
        """Begin with another policy: every rule's circuit breaker is reset."""
        self._table = table
        self._everywhere = list(table.rules.everywhere)
        self._by_lane = list(table.rules.by_lane)
        rules = table.rules
        self._job_evaluator = JobRuleEvaluator(rules.by_job, rules.labels, self._clocks.used)
        self._true_of_jobs: Counter[str] = Counter()
        self._holding: dict[int, int] = {}
        """The rules that apply to all lanes of a pool, by the pool's place."""
        self._lifted = 0
        self._circuit_breaker = CircuitBreaker()
        self._everywhere_due = self._round_due = self._slice_due = 0.0
        self._lanes: list[Lane] = []
        self._place = 0
        self._metrics.clear()

    def evaluate(self, order: RuleTarget, fleet: Fleet, now_us: int) -> None:
        """Apply the rules whose conditions are true now, before the next plan.

        Conditions that do not read lanes are evaluated once a second and when a policy comes
        into force; the others for some lanes twenty times a second, so that each lane's turn
        comes once a second, or later with more than three thousand of them. Conditions that
        read jobs are evaluated during the plan, when it is a job's turn.
        """
        self._began_us = self._began_us or now_us
        if order.table is not self._table:
            self._begin(order.table)
        if not self._table.rules:
            return
        now = self._clocks.now()
        by_lane: dict[Lane, int] = {}
        if now >= min(self._everywhere_due, self._slice_due):
            values = self._values(order, fleet, now_us)
            if now >= self._everywhere_due:
                self._everywhere_due = now + _EVERYWHERE_SECONDS
                self._evaluate_pools(values, _served(order))
            if now >= self._slice_due:
                self._slice_due = now + _SLICE_SECONDS
                self._begin_job_slice(order, values, now_us)
                if self._by_lane:
                    by_lane = self._evaluate_lanes(self._next_lanes(order, now), values, now_us)
        if self._lifted:
            by_lane |= self._lift(order, by_lane)
        apply_policy.apply_rules(order.ledgers, self._holding, by_lane, now_us)

    def _values(self, order: RuleTarget, fleet: Fleet, now_us: int) -> Values:
        """Return the values of the variables that do not depend on a lane."""
        by_job = self._job_evaluator.conditions
        zones = {each.rule.zone for each in (*self._everywhere, *self._by_lane, *by_job)}
        clocks = [(zone, clock(zone, now_us)) for zone in zones]
        pools = [fleet(context.name) for context in order.ledgers[0].context.fleet]
        return [{zone: pool_values(at, workers) for zone, at in clocks} for workers in pools]

    def _evaluate_pools(self, values: Values, served: Sequence[int]) -> None:
        """Evaluate conditions for whole pools; once for all pools if they read no slots.

        The metric covers only the `served` pools: former pools, and queues without a pool, have
        no workers, so that a condition on free slots would always be shown as true.
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
            self._metrics.show_true(condition.name, int(shown))
        for condition in self._job_evaluator.conditions:
            self._metrics.show_true(condition.name, self._true_of_jobs.pop(condition.name, 0))

    def _begin_job_slice(self, order: RuleTarget, values: Values, now_us: int) -> None:
        """Collect the use of the last slice of job evaluations, and begin the next slice."""
        job_evaluator = self._job_evaluator
        if job_evaluator.conditions:
            for condition, used, failed, true in job_evaluator.usage():
                self._true_of_jobs[condition.name] += true
                self._record_evaluation(condition, used=used, failed=failed)
            job_evaluator.begin(values, began_us=self._began_us, now_us=now_us)
            order.evaluate_job_rules_with(job_evaluator.evaluate)

    def _next_lanes(self, order: RuleTarget, now: float) -> list[Lane]:
        """Return the lanes to evaluate in this slice."""
        if self._place >= len(self._lanes) and now >= self._round_due:
            self._lanes, self._place = apply_policy.lanes_with_rules(order.ledgers), 0
            if self._lanes and not any(ledger.stale for ledger in order.ledgers):
                self._round_due = now + _ROUND_SECONDS
            counts = Counter([lane.active_rules for lane in self._lanes])
            for condition in self._by_lane:
                holds = (counts[applied] for applied in counts if applied & condition.bit)
                self._metrics.show_true(condition.name, sum(holds))
        place = self._place
        self._place = place + max(1, _SLICE // len(self._by_lane))
        return self._lanes[place : self._place]

    def _evaluate_lanes(
        self, lanes: list[Lane], values: Values, now_us: int
    ) -> dict[Lane, int]:
        """Return the rules that apply to each of these lanes; none to a lane without work."""
        by_lane: dict[Lane, int] = {}
        known: dict[Lane, tuple[object, ...]] = {}
        for lane in lanes:
            if lane.heads.stream is None and not lane.in_flight:
                by_lane[lane] = 0
                continue
            facts = lane_facts(
                lane, self._table.rules.labels, began_us=self._began_us, now_us=now_us
            )
            if facts is not None:
                known[lane], by_lane[lane] = facts, lane.active_rules
        for condition in tuple(self._by_lane):
            bit, same = condition.bit, [each[condition.rule.zone] for each in values]
            scopes = {
                lane: same[lane.queue.pool] + facts
                for lane, facts in known.items()
                if lane.rules & bit
            }
            for lane, holds in self._ask(condition, scopes).items():
                by_lane[lane] = by_lane[lane] | bit if holds else by_lane[lane] & ~bit
        return by_lane

    def _ask(self, condition: Condition, scopes: Mapping[K, Scope]) -> dict[K, bool]:
        """Return where a condition is true; lanes that are left out keep their last result.

        Only CPU time of this thread counts against a rule: other threads may delay it.
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
        self._record_evaluation(condition, used=clocks.used() - began, failed=failed)
        return answers

    def _record_evaluation(
        self, condition: Condition, *, used: float, failed: Exception | None
    ) -> None:
        """Count what went wrong, and disable the rule if its circuit breaker opens."""
        if failed is not None:
            self._metrics.count_error(condition.name)
        if used >= CPU_SECONDS_MAX:
            self._metrics.count_overrun(condition.name)
        reason = self._circuit_breaker.record(condition, used=used, failed=failed)
        if reason is not None:
            self._disable(condition, reason)

    def _disable(self, condition: Condition, reason: str) -> None:
        """Disable a rule until another policy is stored."""
        self._everywhere = [each for each in self._everywhere if each is not condition]
        self._by_lane = [each for each in self._by_lane if each is not condition]
        self._job_evaluator.disable(condition)
        for pool in self._holding:
            self._holding[pool] &= ~condition.bit
        self._lifted |= condition.bit
        self._on_disabled(DisabledRule(self._table.stored, condition.name, reason))

    def _lift(self, order: RuleTarget, by_lane: Mapping[Lane, int]) -> dict[Lane, int]:
        """Return the rules of lanes to which a disabled rule applied, without it."""
        lifted, self._lifted = self._lifted, 0
        now = {
            lane: by_lane.get(lane, lane.active_rules)
            for lane in apply_policy.lanes_with_rules(order.ledgers)
        }
        return {lane: applied & ~lifted for lane, applied in now.items() if applied & lifted}


def _served(order: RuleTarget) -> list[int]:
    """Return the places of the pools that the policy names."""
    names = order.table.routing.names
    fleet = order.ledgers[0].context.fleet
    return [each.place for each in fleet if each.name in (names or (each.default_pool,))]
