"""Free slots follow claims and endings, and wake-ups go to workers with room."""

from fairlead_scheduler.capacity.workers import Capacity
from fairlead_scheduler.rows import Worker


def fleet() -> Capacity:
    """Return two workers, of two and five slots."""
    capacity = Capacity()
    capacity.set_workers([Worker(1, 2, "default"), Worker(2, 5, "default")])
    return capacity


def test_claims_take_slots_and_endings_give_them_back() -> None:
    """A job holds one slot of the worker that claimed it."""
    capacity = fleet()
    capacity.claimed(1, [10, 11])
    capacity.claimed(2, [12])
    claimed = capacity.free("default")
    capacity.ended([10, 12])

    assert (7, 4, 6) == (capacity.slots("default"), claimed, capacity.free("default"))


def test_a_prefetching_worker_has_no_free_slots() -> None:
    """Holding more jobs than slots takes nothing from the other workers."""
    capacity = fleet()
    capacity.claimed(1, [10, 11, 12])

    assert 5 == capacity.free("default")


def test_what_a_worker_holds_beyond_its_slots_waits_for_one() -> None:
    """Unless it needs none; slots of another worker do not help."""
    capacity = fleet()
    capacity.claimed(1, [10, 11, 12, 13])
    ahead = capacity.ahead("default")
    capacity.set_workers([Worker(1, 2, beside=2), Worker(2, 5)])

    assert (2, 0) == (ahead, capacity.ahead("default"))


def test_a_repeated_event_changes_nothing() -> None:
    """A claim or an ending that is reported twice counts once."""
    capacity = fleet()
    capacity.claimed(1, [10])
    capacity.claimed(1, [10])
    once = capacity.free("default")
    capacity.ended([10])
    capacity.ended([10, 99])

    assert (6, 7) == (once, capacity.free("default"))


def test_a_job_that_another_worker_claims_leaves_its_first_worker() -> None:
    """A steal and a new claim between two reads move the job."""
    capacity = fleet()
    capacity.claimed(1, [10])
    capacity.claimed(2, [10])

    assert (2, 1) == capacity.workers_for(6, "default")
    assert 6 == capacity.free("default")


def test_what_a_worker_holds_beside_its_slots_takes_none_of_them() -> None:
    """It has its slots, and room in those that run nothing."""
    capacity = fleet()
    capacity.set_workers([Worker(1, 2, beside=3), Worker(2, 5)])
    capacity.claimed(1, [10, 11, 12, 13])

    assert (7, 6) == (capacity.slots("default"), capacity.free("default"))
    assert (2, 1) == capacity.workers_for(6, "default")
    capacity.ended([10, 11, 12, 13])
    assert 7 == capacity.free("default")


def test_a_dead_workers_slots_do_not_count() -> None:
    """Only live workers have slots, whatever dead ones still hold."""
    capacity = fleet()
    capacity.claimed(2, [10])
    capacity.set_workers([Worker(1, 2, "default")])

    assert (2, 2) == (capacity.slots("default"), capacity.free("default"))


def test_the_emptiest_workers_are_woken_first_and_no_more_than_needed() -> None:
    """The workers with the most free slots that together have room."""
    capacity = fleet()
    capacity.set_workers(
        [Worker(1, 2, "default"), Worker(2, 5, "default"), Worker(3, 4, "default")]
    )
    capacity.claimed(2, [10, 11])

    assert [(3,), (3, 2), (3, 2, 1), ()] == [
        capacity.workers_for(n, "default") for n in (4, 5, 100, 0)
    ]


def test_an_audit_puts_right_who_holds_what() -> None:
    """What is no longer in flight is free; what only the read found is held."""
    capacity = fleet()
    capacity.claimed(1, [10, 11])
    capacity.reconcile({11: 1, 12: 2, 13: 2}, in_flight={11, 12})

    assert 5 == capacity.free("default")


def test_each_pool_has_the_slots_of_its_own_workers() -> None:
    """Capacity is counted per pool."""
    capacity = Capacity()
    capacity.set_workers([Worker(1, 2, "default"), Worker(2, 5, "gpu")])
    capacity.claimed(2, [10])

    assert (2, 4, 0) == tuple(map(capacity.free, ("default", "gpu", "other")))
    assert (2, 5, 0) == tuple(map(capacity.slots, ("default", "gpu", "other")))
    assert (2,) == capacity.workers_for(9, "gpu")
    assert ("gpu", None) == (capacity.pool_of(2), capacity.pool_of(3))


def test_what_a_worker_does_not_count_is_known_until_it_ends() -> None:
    """One that is not known may be one that has just left; who holds nothing ends nothing."""
    capacity = Capacity()
    capacity.set_workers([Worker(1, 2), Worker(2, 2, counts=False)])
    for worker, job in ((1, 11), (2, 12), (3, 13)):
        capacity.claimed(worker, [job])

    assert [(12, 2), (13, 3)] == capacity.uncounted([11, 12, 13, 14])

    capacity.ended([12, 13])
    assert [] == capacity.uncounted([11, 12, 13, 14])
