"""What is queued beyond the free slots, and what first jobs are expected to take."""

from tests.support.fair_bench import MS, Bench


def test_no_more_is_queued_than_keeps_all_slots_busy_for_a_moment() -> None:
    """Ten free slots and eight rows, however deep the queue may be for short jobs."""
    bench = Bench()
    bench.add("q/a", *[None] * 51)
    bench.run(bench.plan(1, slots=10), 1000)

    assert 18 == len(bench.plan(1000, slots=10))
    assert 0 == len(bench.plan(1000, slots=10))


def claimed_ahead(bench: Bench) -> int:
    """Claim all that one plan queues of jobs of a second; returns how many have no slot."""
    bench.add("q/a", *[None] * 51)
    bench.run(bench.plan(1, slots=10), 1000)
    rows = bench.plan(1000, slots=10)
    bench.order.claimed([row.id for row in rows], bench.now_us)
    return len(rows) - 10


def test_what_is_claimed_ahead_of_its_slots_counts_as_queued() -> None:
    """Workers claim long jobs at the pace of short ones for a while after these."""
    bench = Bench()

    assert 8 == claimed_ahead(bench)
    assert 0 == len(bench.plan(1000, slots=10))


def test_as_much_is_queued_as_gets_a_slot() -> None:
    """Two jobs end, two that were claimed ahead have their slots, and two rows are queued."""
    bench = Bench()
    claimed_ahead(bench)
    first = sorted(bench.pool.in_flight)[:2]
    bench.order.ended(first, [1000 * MS] * 2)

    assert 2 == len(bench.plan(1000, slots=10))


def test_what_ends_before_its_slot_was_known_counts_no_longer() -> None:
    """Short jobs begin and end between two looks of the leader."""
    bench = Bench()
    claimed_ahead(bench)
    last = sorted(bench.pool.in_flight)[-8:]
    bench.order.ended(last, [1000 * MS] * 8)

    assert 8 == len(bench.plan(1000, slots=10))


def test_what_is_handed_back_counts_once() -> None:
    """It is queued again instead of claimed ahead."""
    bench = Bench()
    claimed_ahead(bench)
    bench.order.returned(sorted(bench.pool.in_flight)[-8:], bench.now_us)

    assert 0 == len(bench.plan(1000, slots=10))


def test_what_waits_for_no_slot_keeps_no_others_out() -> None:
    """As attempts at the gates of their kinds. There is room for 31 jobs beyond ten slots."""
    queued: list[int] = []
    for ahead in (20, 10, 0):
        bench = Bench(prior_us=10 * MS)
        bench.add("q/a", *[None] * 201)
        bench.run(bench.plan(1, slots=10), 20)
        bench.run(bench.plan(1, slots=10), 20)
        rows = bench.plan(30, slots=10)
        bench.order.claimed([row.id for row in rows], bench.now_us)
        bench.pool.note_workers(free=0, ahead=ahead, idle=0)
        queued.append(len(bench.plan(1000, slots=10)))

    assert [31 - 20, 31 - 10, 31] == queued


def test_free_slots_of_one_worker_are_filled_while_another_has_claimed_ahead() -> None:
    """It could begin what the other one holds, but it does not have it."""
    bench = Bench()
    claimed_ahead(bench)
    bench.pool.note_workers(free=3, ahead=11, idle=0)

    assert 3 == len(bench.plan(1000, slots=10))


def test_a_first_job_that_runs_long_says_what_the_next_will_take() -> None:
    """Before it has ended: else many more would be dispatched as if they were short."""
    bench = Bench()
    bench.add("q/a", None, None)
    bench.order.claimed([job.id for job in bench.plan(1, slots=2)], bench.now_us)
    bench.now_us += 3000 * MS
    bench.plan(0, slots=2)

    (second,) = bench.plan(1, slots=2)
    assert second.estimate_us >= 3000 * MS
