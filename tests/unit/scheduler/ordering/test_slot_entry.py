"""What is queued beyond the free slots, and what first jobs are expected to take."""

from tests.support.fair_bench import MS, Bench


def test_no_more_is_queued_than_keeps_all_slots_busy_for_a_moment() -> None:
    """Ten free slots and eight rows, however deep the queue may be for short jobs."""
    bench = Bench()
    bench.add("q/a", *[None] * 51)
    bench.run(bench.plan(1, slots=10), 1000)

    assert 18 == len(bench.plan(1000, slots=10))
    assert 0 == len(bench.plan(1000, slots=10))


def test_a_first_job_that_runs_long_says_what_the_next_will_take() -> None:
    """Before it has ended: else many more would be dispatched as if they were short."""
    bench = Bench()
    bench.add("q/a", None, None)
    bench.order.claimed([job.id for job in bench.plan(1, slots=2)], bench.now_us)
    bench.now_us += 3000 * MS
    bench.plan(0, slots=2)

    (second,) = bench.plan(1, slots=2)
    assert second.estimate_us >= 3000 * MS
