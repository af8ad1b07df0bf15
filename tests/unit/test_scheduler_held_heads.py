"""What keys and rules hold for long, and what an edit leaves of it."""

from fairlead_scheduler.keys import Demand
from fairlead_scheduler.terms import Table
from tests.support.fair_bench import Bench
from tests.support.ruled import Ruled, of_job
from tests.support.tables import table


def test_an_edit_leaves_nobody_waiting_for_verdicts() -> None:
    """A leader that waits for any looks at every tick."""
    ruled = Ruled("rules: [{when: job.attempt > 9, hold: true}]", used=lambda: 0.0)
    for tenant in range(800):
        ruled.bench.add(f"q/{tenant}x", 100, fields=of_job("mail"))
    for _ in range(3):
        ruled.bench.plan(0)
    ruled.look()
    went = len(ruled.bench.plan())
    assert ruled.bench.order.awaits_verdicts

    ruled.edit("version: none")
    for _ in range(3):
        ruled.look()
        went += len(ruled.bench.plan())

    assert 800 == went
    assert not ruled.bench.order.awaits_verdicts


def test_an_edit_leaves_nobody_waiting_for_values() -> None:
    """A leader that waits for any does not rest between two looks."""
    bench = Bench(Table())
    bench.add("q/t", *[100] * 600)
    assert 600 == len(bench.plan())
    bench.order.apply(table({}, keys={"q": (Demand("payload.account", 1),)}), bench.now_us)
    bench.plan()
    assert bench.order.awaits_values

    bench.order.apply(Table(), bench.now_us)
    bench.plan()

    assert not bench.order.awaits_values
