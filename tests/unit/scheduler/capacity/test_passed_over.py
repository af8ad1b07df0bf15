"""Rows that workers pass over are no part of the depth, and bound what a lane gets."""

from fairlead_scheduler.capacity.passed_over import PassedOver
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.ordering.router import Router


def dispatched(jobs: int) -> Router:
    """Return an order that has dispatched so many jobs of one lane."""
    router = Router("default")
    rows = [QueueRow(n, "q", "t", n, 1000, None, 0, "default") for n in range(1, jobs + 1)]
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


def look(passed_over: PassedOver, router: Router, *seconds: int, free: int = 4) -> int:
    """Look for rows that are left at these times; return how many there are."""
    for at in seconds:
        ledgers = router.served[0].ledgers
        passed_over.observe(ledgers, at * 1_000_000, free=free, slots=4)
    return passed_over.count()


def test_a_row_is_left_if_a_later_one_is_claimed_while_it_is_there() -> None:
    """Until it is claimed. Whether a slot is free does not matter."""
    router, passed_over = dispatched(3), PassedOver()
    assert 0 == look(passed_over, router, 1, 2, free=0)
    router.claimed([2], 2_500_000)

    assert (1, {1}) == (look(passed_over, router, 3, free=0), {*passed_over.ids})

    assert not passed_over.waits_for_kind(1)
    router.claimed([1], 3_500_000)
    assert 0 == look(passed_over, router, 4, free=0)


def test_a_row_that_came_after_the_last_look_is_not_left() -> None:
    """It was not there when the later one was claimed, perhaps."""
    router, passed_over = dispatched(2), PassedOver()
    router.claimed([2], 500_000)

    assert 0 == look(passed_over, router, 1)


def test_where_nothing_is_claimed_as_many_rows_are_left_as_there_are_slots() -> None:
    """Workers may have stopped. While no slot is free rows wait for one."""
    router, passed_over = dispatched(3000), PassedOver()
    assert 0 == look(passed_over, router, 1, 2, 3, free=0)

    assert 4 == look(passed_over, router, 4, 5, 6)


def test_a_lane_is_not_full_by_rows_that_are_left() -> None:
    """Other jobs of it run meanwhile."""
    router, passed_over = dispatched(6), PassedOver()
    look(passed_over, router, 1)
    router.claimed([6], 1_500_000)

    assert 5 == look(passed_over, router, 2)
    assert frozenset() == passed_over.full_lanes(4)
