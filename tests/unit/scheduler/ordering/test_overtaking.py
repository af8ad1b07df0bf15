"""Overtaking rows of one's own queue while it is another queue's turn."""

from tests.support.fair_bench import Bench


def test_a_lane_overtakes_once_while_it_is_another_queues_turn() -> None:
    """Its queue would have the turns of the row that it overtakes again and again."""
    bench = Bench()
    bench.add("q/noisy", *[100] * 10)
    bench.plan(5)
    bench.add("r/other", *[200] * 10)
    bench.plan(0)
    bench.add("q/quiet", 50, 50, 50)

    assert "quiet1" == bench.claim_order(bench.plan(0))
    assert "" == bench.claim_order(bench.plan(0))


def test_a_lane_with_jobs_in_flight_overtakes_nothing_while_it_is_another_queues_turn() -> None:
    """Whichever lane of its queue begins to wait."""
    bench = Bench(weights={("q", "light"): 0.1})
    bench.add("q/busy", 50)
    bench.add("q/light", *[100] * 4)
    bench.plan(5)
    bench.add("q/busy", 50, 50)
    bench.plan(0)
    bench.add("r/other", *[300] * 10)
    bench.plan(0)
    bench.add("q/quiet", 10)
    bench.add("q/busy", 50)

    assert "quiet1" == bench.claim_order(bench.plan(0))
