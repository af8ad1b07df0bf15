"""Rows that workers pass over are no part of the depth, and bound what a lane gets."""

from fairlead_scheduler.capacity.passed_over import PassedOver
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.ordering.router import Router


def dispatched(jobs: int) -> Router:
    """Return an order that has dispatched so many jobs of one lane."""
    router = Router("default")
    rows = [QueueRow(n, "q", "t", 0, 1000, None, 0, "default") for n in range(1, jobs + 1)]
    router.adopt(rows, 0, {"default": (0,)}, ())
    return router


def test_rows_count_until_they_are_claimed_or_gone() -> None:
    """A report that is repeated, or names what is not known, changes nothing."""
    router, passed_over = dispatched(5), PassedOver()
    ledgers = router.served[0].ledgers
    passed_over.add([1, 2, 3, 99], ledgers)
    passed_over.add([3, 4], ledgers)
    assert 4 == passed_over.count()

    router.claimed([1], 10)
    router.ended([2], [5])

    assert 2 == passed_over.count()


def test_a_lane_with_as_many_of_them_as_slots_is_full() -> None:
    """And no more once one is claimed."""
    router, passed_over = dispatched(5), PassedOver()
    passed_over.add([1, 2, 3, 4], router.served[0].ledgers)
    assert (4, frozenset({("q", "t")})) == (passed_over.count(), passed_over.full_lanes(4))
    assert frozenset() == passed_over.full_lanes(5)

    router.claimed([4], 10)

    assert (3, frozenset()) == (passed_over.count(), passed_over.full_lanes(4))


def test_a_row_that_is_not_claimed_for_a_second_while_slots_are_free_counts() -> None:
    """Until it is claimed; not where a slot was never free, nor a row that came meanwhile."""
    router, passed_over = dispatched(3), PassedOver()
    ledgers = router.served[0].ledgers
    for at_ms, free in ((1000, 4), (1500, 4), (1900, 0), (2000, 4)):
        passed_over.observe(ledgers, at_ms * 1000, free=free)
    passed_over.observe(ledgers, 2_900_000, free=4)
    assert 0 == passed_over.count()
    router.claimed([3], 2_950_000)
    passed_over.observe(ledgers, 3_000_000, free=4)

    passed_over.observe(ledgers, 4_000_000, free=4)

    assert (2, {1, 2}) == (passed_over.count(), {*passed_over.ids})
    assert not passed_over.waits_for_kind(1)
    router.claimed([1], 4_100_000)
    assert 1 == passed_over.count()


def test_where_workers_claim_nothing_the_queue_grows_by_no_more_than_a_thousand_rows() -> None:
    """All rows seem to be passed over then."""
    router, passed_over = dispatched(3000), PassedOver()
    for second in range(1, 5):
        passed_over.observe(router.served[0].ledgers, second * 1_000_000, free=4)

    assert 1000 == passed_over.count()


def test_a_lane_is_not_full_by_rows_that_are_locked() -> None:
    """Other jobs of it run meanwhile."""
    router, passed_over = dispatched(5), PassedOver()
    for second in range(1, 4):
        passed_over.observe(router.served[0].ledgers, second * 1_000_000, free=4)

    assert (5, frozenset()) == (passed_over.count(), passed_over.full_lanes(4))
