"""Heads that keys and rules block for long, and what an edit changes."""

import pytest

from fairlead_scheduler.pending.cursors import SKIPPED_MAX
from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.policy.settings import KeyLimit
from tests.support.fair_bench import Bench
from tests.support.ruled import Ruled, of_job
from tests.support.tables import table

MINUTE = 60_000_000


def test_an_edit_leaves_no_lane_waiting_for_rule_results() -> None:
    """A leader that waits for rule results reads at every tick."""
    ruled = Ruled("rules: [{when: job.attempt > 9, hold: true}]", used=lambda: 0.0)
    for tenant in range(800):
        ruled.bench.add(f"q/{tenant}x", 100, fields=of_job("mail"))
    for _ in range(3):
        ruled.bench.plan(0)
    ruled.look()
    went = len(ruled.bench.plan())
    assert ruled.bench.order.awaits_rule_results

    ruled.edit("version: none")
    for _ in range(3):
        ruled.look()
        went += len(ruled.bench.plan())

    assert 800 == went
    assert not ruled.bench.order.awaits_rule_results


def test_an_edit_leaves_no_lane_waiting_for_values() -> None:
    """A leader that waits for values does not rest between two ticks."""
    bench = Bench(CompiledPolicy())
    bench.add("q/t", *[100] * 600)
    assert 600 == len(bench.plan())
    bench.order.apply(table({}, keys={"q": (KeyLimit("payload.account", 1),)}), bench.now_us)
    bench.plan()
    assert bench.order.awaits_values

    bench.order.apply(CompiledPolicy(), bench.now_us)
    bench.plan()

    assert not bench.order.awaits_values


@pytest.mark.parametrize("when", ["hour < 30", "job.attempt < 9"])
def test_blocked_heads_that_are_gone_do_not_block_those_behind_them_for_ever(when: str) -> None:
    """They may have expired or been cancelled, which no event reports to the leader."""
    ruled = Ruled(f"rules: [{{match: {{kind: report}}, when: {when}, hold: true}}]")
    for kind in (*["report"] * SKIPPED_MAX, "mail"):
        ruled.bench.add("q/a", 100, fields=of_job(kind))
    assert "" == ruled.planned()

    ruled.bench.fields |= {job_id: {} for job_id in range(1, SKIPPED_MAX + 1)}
    ruled.bench.now_us += MINUTE
    went = ruled.planned().split()

    assert f"a{SKIPPED_MAX + 1}" in went


def test_blocked_heads_that_are_still_there_stay_blocked() -> None:
    """They are read again now and then, while nothing behind them is checked."""
    ruled = Ruled("rules: [{match: {kind: report}, when: hour < 30, hold: true}]")
    ruled.bench.add("q/a", *[100] * (SKIPPED_MAX + 1), fields=of_job("report"))
    ruled.planned()

    for _ in range(3):
        ruled.bench.now_us += MINUTE
        assert "" == ruled.planned()
        assert 1 == ruled.bench.order.blocked_lanes()["hold"]
        assert () == ruled.bench.order.attribute_requests()


def test_a_job_that_was_recalled_is_read_again_before_it_goes() -> None:
    """Read under one policy, dispatched under another without keys, and recalled."""
    rule = "rules: [{match: {kind: x, tenant: %s}, when: hour < 30, hold: true}]"
    ruled = Ruled(rule % "a")
    ruled.bench.add("q/a", 100, 100, fields=of_job("x"))
    held = ruled.planned()
    ruled.edit(rule % "b")
    gone = ruled.planned()
    ruled.edit(rule % "a")
    ruled.planned()
    recalled = ruled.bench.order.surplus_rows()
    ruled.bench.order.recalled(recalled, ruled.bench.heads)

    assert ("", "a1 a2", (1, 2), "") == (held, gone, recalled, ruled.planned())
