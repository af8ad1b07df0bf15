"""Rules of the policy in the fair order, decision by decision."""

from collections.abc import Sequence
from time import thread_time

import pytest

from fairlead.policy import parse
from fairlead.policy.cel.compiler import Scope
from fairlead_scheduler.explain.snapshot import lane_snapshot
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.policy.compiled import compile_policy
from fairlead_scheduler.policy.rules import Condition
from fairlead_scheduler.rules.circuit_breaker import DisabledRule
from tests.support.fair_bench import MS
from tests.support.ruled import Ruled

NIGHT = "rules: [{name: night, match: {%s}, when: hour < 6, hold: true}]"


@pytest.mark.parametrize("match", ["queue: q", "queue: 'q*', tenant: a", "label: tier=free"])
def test_a_rule_holds_while_its_condition_is_true(match: str) -> None:
    """Nothing is dispatched, what waits is recalled, and it goes on at V afterwards."""
    ruled = Ruled("labels: {a: {tier: free}}\n" + NIGHT % match)
    bench = ruled.bench
    bench.add("q/a", *[100] * 6)
    bench.add("r/b", *[100] * 6)
    assert "b1" == ruled.plan(1, hour=3)

    assert "a1 a2 b2" == ruled.plan(3, hour=6)
    bench.order.claimed([1], bench.now_us)
    assert "b3" == ruled.plan(1, hour=4)

    assert (2,) == bench.order.surplus_rows()
    bench.order.recalled([2], bench.heads)
    assert "b4 b5" == ruled.plan(2)
    assert 1 == bench.order.blocked_lanes()["hold"]
    assert () == bench.order.surplus_rows()
    assert "a2" in ruled.plan(2, hour=7)


def test_a_hold_of_a_queue_leaves_the_others_the_slots() -> None:
    """Work-conserving: no lane waits for one that a rule blocks."""
    ruled = Ruled(NIGHT % "queue: q")
    ruled.bench.add("q/a", *[100] * 4)
    ruled.bench.add("q/b", *[100] * 4)
    ruled.bench.add("r/c", *[100] * 4)

    assert "c1 c2 c3 c4" == ruled.plan(hour=0)
    assert 2 == ruled.bench.order.blocked_lanes()["hold"]


def test_a_lane_that_was_blocked_has_earned_nothing() -> None:
    """Releasing a hold: S = max(S, V). Its jobs are expected to take longer than those of b."""
    ruled = Ruled(NIGHT % "tenant: a")
    ruled.bench.add("q/a", *[100] * 9)
    ruled.bench.add("q/b", *[100] * 40)
    ids = list(range(10, 30))
    ruled.plan(20, hour=0)
    ruled.bench.order.claimed(ids, ruled.bench.now_us)
    ruled.bench.order.ended(ids, [100 * MS] * 20)

    picked = ruled.plan(8, hour=7).split()

    assert 3 == sum(name.startswith("a") for name in picked)


def test_a_row_that_comes_back_while_a_rule_holds_is_recalled() -> None:
    """A worker that returns it hands it to no other."""
    ruled = Ruled(NIGHT % "tenant: a")
    ruled.bench.add("q/a", 100, 100)
    ruled.plan(hour=7)
    ruled.bench.order.claimed([1, 2], ruled.bench.now_us)
    ruled.plan(hour=0)
    assert () == ruled.bench.order.surplus_rows()

    ruled.bench.order.returned([2], ruled.bench.now_us)

    assert ruled.bench.order.may_exceed_limits
    assert (2,) == ruled.bench.order.surplus_rows()


@pytest.mark.parametrize(("hour", "share"), [(0, 30), (9, 20)])
def test_a_factor_multiplies_the_weight_of_a_queue(hour: int, share: int) -> None:
    """A rule that names no tenant and no lane is for the queue as a whole."""
    document = (
        "queues: [{match: {queue: q}, weight: 2}]\n"
        "rules: [{match: {queue: q}, when: hour < 6, weightFactor: 1.5}]"
    )
    ruled = Ruled(document)
    ruled.bench.add("q/a", *[100] * 90)
    ruled.bench.add("r/b", *[100] * 90)

    picked = ruled.plan(share + 10, slots=1000, hour=hour).split()

    assert share == sum(name.startswith("a") for name in picked)


def test_the_factors_of_several_rules_are_multiplied() -> None:
    """And the weight stays within its bounds."""
    rule = "{tenant: a}, when: hour < %d, weightFactor: %s"
    rules = [rule % (6, "2"), rule % (7, "1.5"), rule % (1, "1000"), rule % (1, "1000")]
    listed = ", ".join(f"{{match: {each}}}" for each in rules)
    ruled = Ruled(f"rules: [{listed}]")
    ruled.bench.add("q/a", *[100] * 9)

    weights: list[float] = []
    for hour in (0, 5, 6, 8):
        ruled.plan(1, hour=hour)
        scene = lane_snapshot(ruled.bench.order, "q", "a", now_us=0, slots=1, free=1)
        assert scene is not None
        weights.append(scene.lane.weight)

    assert [1000.0, 3.0, 1.5, 1.0] == weights


def test_another_weight_leaves_the_limit_and_nothing_to_recall() -> None:
    """Unclaimed rows are recalled where a rule now holds them, and only then looked for."""
    document = (
        "queues: [{match: {queue: q}, tenants: {default: {slots: {limit: 3}}}}]\n"
        "rules:\n"
        "- {match: {tenant: a}, when: hour < 6, weightFactor: 2}\n"
        "- {match: {tenant: a}, when: hour < 3, slots: {limit: 1}}\n"
    )
    ruled = Ruled(document)
    ruled.bench.add("q/a", *[100] * 9)
    over: list[tuple[int, bool, tuple[int, ...]]] = []
    for hour in (8, 4, 8, 0):
        planned = ruled.plan(hour=hour)
        found = (len(planned.split()), ruled.bench.order.may_exceed_limits)
        over.append((*found, ruled.bench.order.surplus_rows()))

    assert [(3, True, ()), (0, False, ()), (0, False, ()), (0, True, (2, 3))] == over


def test_the_smallest_limit_counts() -> None:
    """Of the policy's own and those of all rules, in jobs and in shares of the slots."""
    document = (
        "queues: [{match: {queue: q}, tenants: {default: {slots: {limit: 6}}}}]\n"
        "rules:\n"
        "- {match: {tenant: a}, when: hour < 6, slots: {limit: 50%}}\n"
        "- {match: {tenant: a}, when: hour < 3, slots: {limit: 3}}\n"
        "- {match: {tenant: a}, when: hour < 9, slots: {limit: 100}}\n"
    )
    ruled = Ruled(document)
    ruled.bench.add("q/a", *[100] * 20)

    dispatched = [len(ruled.plan(hour=hour).split()) for hour in (0, 4, 7)]

    assert [3, 1, 2] == dispatched


def test_an_edit_keeps_a_hold_that_both_policies_have() -> None:
    """Between two tables no lane slips through, however many there are."""
    ruled = Ruled(NIGHT % "tenant: 'a*'")
    for number in range(2500):
        ruled.bench.add(f"q/a{number}x", 100)
    ruled.bench.add("q/b", 100)
    assert ["", "", "b1"] == [ruled.plan(hour=0) for _ in range(3)]

    ruled.edit(NIGHT % "tenant: 'a*'" + "\nqueues: [{match: {queue: q}, weight: 3}]")

    assert ["", "", "", ""] == [ruled.plan() for _ in range(4)]
    ruled.edit("{}")
    assert 2500 == sum(len(ruled.plan(5000, slots=5000).split()) for _ in range(8))


def test_a_new_leader_lets_hold_what_holds_before_its_first_plan() -> None:
    """Fail-over keeps effects: what the former leader dispatched of a held lane is recalled."""
    ruled = Ruled(NIGHT % "queue: q")
    ruled.bench.adopt([QueueRow(100, "q", "a", 0, 100, None)], 0)
    ruled.bench.add("q/a", 100)

    assert "" == ruled.plan(hour=0)
    assert (100,) == ruled.bench.order.surplus_rows()


def test_an_edit_changes_terms_that_a_rule_changes_too() -> None:
    """What a lane remembers of its terms without rules is not taken for those of an edit."""
    document = (
        "queues: [{match: {queue: q}, tenants: {default: {slots: {limit: %d}}}}]\n"
        "rules: [{match: {tenant: a}, when: hour < 6, weightFactor: 2}]"
    )
    ruled = Ruled(document % 3)
    ruled.bench.add("q/a", *[100] * 9)
    assert "a1 a2 a3" == ruled.plan(hour=0)

    ruled.edit(document % 5)
    ruled.plan(0)

    assert "a4 a5" == ruled.plan()


@pytest.mark.parametrize("when", ["hour < 6", "lane.in_flight < 9"])
def test_an_edit_blocks_the_lanes_that_the_new_rules_are_for(when: str) -> None:
    """What a lane remembers of rules is not taken for rules of another policy."""
    document = f"rules: [{{match: {{tenant: %s}}, when: {when}, hold: true}}]"
    ruled = Ruled(document % "a")
    ruled.bench.add("q/a", *[100] * 9)
    ruled.bench.add("q/b", *[100] * 9)
    ruled.bench.plan(0)
    assert "b1 b2" == ruled.plan(2, hour=0)

    ruled.edit(document % "b")
    picked = [name for _ in range(3) for name in ruled.plan(2).split()]

    assert "a1 a2 a3 a4 a5 a6" == " ".join(picked)


def test_a_hold_counts_more_than_a_reserve() -> None:
    """Who has a reserve goes first, but not while a rule holds it."""
    document = (
        "queues: [{match: {queue: q}, tenants: {default: {slots: {reserve: 2}}}}]\n"
        + NIGHT % "tenant: a"
    )
    ruled = Ruled(document)
    ruled.bench.add("q/a", *[100] * 9)
    ruled.bench.add("q/b", *[100] * 9)

    assert "b1 b2 b3" == ruled.plan(3, hour=0)
    assert "a1 a2" == ruled.plan(2, hour=7)


WAITING = "rules: [{name: late, when: lane.oldest_wait_s > 30, weightFactor: 4}]"


def test_a_condition_of_a_lane_is_looked_at_for_each() -> None:
    """With lane.*: once per matched lane and second."""
    ruled = Ruled(WAITING)
    ruled.bench.add("q/a", *[100] * 90)
    ruled.look()
    ruled.bench.now_us += 31_000_000
    ruled.bench.plan(0)
    ruled.look()
    ruled.bench.plan(0)

    scene = lane_snapshot(ruled.bench.order, "q", "a", now_us=0, slots=1, free=1)
    assert scene is not None
    assert 4.0 == scene.lane.weight
    ruled.look()
    assert 1.0 == ruled.counted("fairlead_policy_rule_true", "late")


def test_conditions_of_many_lanes_are_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 150 conditions at once; the rest has its turn soon after."""
    asked: list[Scope] = []
    holds = Condition.holds

    def counting(self: Condition, values: Scope) -> bool:
        asked.append(values)
        return holds(self, values)

    monkeypatch.setattr(Condition, "holds", counting)
    ruled = Ruled(WAITING)
    for number in range(360):
        ruled.bench.add(f"q/a{number}x", 100)
    ruled.bench.plan(0)
    counts: list[int] = []
    for _ in range(22):
        ruled.look(seconds=0.0501)
        counts.append(len(asked))
        asked.clear()

    assert [150, 150, 60, *[0] * 17, 150, 150] == counts
    assert () == ruled.bench.plan(0)


def burning(self: Condition, _values: Scope) -> bool:
    """Answer after ten milliseconds of work."""
    until = thread_time() + 0.01
    while self.name == "bad" and thread_time() < until:
        pass
    return True


def raising(self: Condition, _values: Scope) -> bool:
    """Answer nothing."""
    if self.name == "bad":
        raise RuntimeError("boom")
    return True


@pytest.mark.parametrize("when", ["hour < 30", "lane.in_flight < 9"])
@pytest.mark.parametrize(
    ("holds", "series", "said"),
    [
        (burning, "fairlead_policy_rule_overruns_total", "took over 5 ms 3 times in a row"),
        (
            raising,
            "fairlead_policy_rule_errors_total",
            "had no value 3 times, the last time: boom",
        ),
    ],
)
def test_a_bad_rule_is_disabled_after_three_looks(
    when: str, holds: object, series: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, reported, and what it changed is undone; the other rules and dispatch go on."""
    monkeypatch.setattr(Condition, "holds", holds)
    document = (
        f"rules: [{{name: bad, match: {{tenant: a}}, when: {when}, slots: {{limit: 1}}}},"
        f" {{name: good, match: {{tenant: b}}, when: {when}, hold: true}}]"
    )
    ruled = Ruled(document)
    ruled.bench.add("q/a", *[100] * 9)
    ruled.bench.add("q/b", *[100] * 9)
    ruled.bench.plan(0)
    for looks in (1, 2, 3):
        assert [] == ruled.disabled
        ruled.look()
        ruled.bench.plan(0)
        ruled.look(seconds=0.11)
        assert looks == ruled.counted(series, "bad")

    assert [DisabledRule(3, "bad", said)] == ruled.disabled
    assert " ".join(f"a{number}" for number in range(1, 10)) == ruled.plan()
    ruled.look()
    assert 3 == ruled.counted(series, "bad")
    assert 0 == ruled.counted(series, "good")

    ruled.edit(document.replace("limit: 1", "limit: 2"))
    ruled.plan()
    ruled.look()
    assert 3 < (ruled.counted(series, "bad") or 0)


def test_a_rule_that_was_disabled_stays_so_under_the_next_leader() -> None:
    """Until the next version: its name comes with the document."""
    rules = compile_policy(parse(NIGHT % "tenant: a"), stored=1, disabled=["night"]).rules

    assert not rules


@pytest.mark.parametrize("disabled", [(), ("night",)])
def test_a_version_that_says_the_same_again_tries_disabled_rules_anew(
    disabled: Sequence[str],
) -> None:
    """A rollback is another version, for a leader as well that has read none in between."""
    policy = parse(NIGHT % "tenant: a")
    ruled = Ruled(NIGHT % "tenant: a")
    order, bench = ruled.bench.order, ruled.bench
    order.apply(compile_policy(policy, stored=3, disabled=["night"]), bench.now_us)
    bench.add("q/a", *[100] * 9)
    assert "a1" == ruled.plan(1, hour=3)

    order.apply(compile_policy(policy, stored=5, disabled=disabled), bench.now_us)

    assert ("a2" if disabled else "") == ruled.plan(1, hour=4)


def test_one_slow_look_among_quick_ones_is_forgiven(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collector's pause is no rule's fault: three in a row count."""
    slow = [True, True, False, True, True, False]

    def holds(self: Condition, values: Scope) -> bool:
        return burning(self, values) if slow.pop(0) else True

    monkeypatch.setattr(Condition, "holds", holds)
    ruled = Ruled("rules: [{name: bad, when: hour < 30, hold: true}]")
    for _ in range(6):
        ruled.look()

    assert [] == ruled.disabled
    assert 4 == ruled.counted("fairlead_policy_rule_overruns_total", "bad")
