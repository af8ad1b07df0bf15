"""What a pool's jobs are charged at least, whatever they had of a slot."""

from fairlead_scheduler.capacity.pool_state import PoolState
from fairlead_scheduler.capacity.workers import Capacity
from fairlead_scheduler.ordering.router import Router


def test_a_job_is_charged_its_part_of_the_dispatch_at_least() -> None:
    """Of 60 slots a 30,000th of a second; what had no slot costs nothing."""
    router, capacity = Router("default"), Capacity()
    router.adopt((), 0, {"default": (0,)}, ())
    state = PoolState(router.served[0], ceiling=2000)
    assert [3, 0] == list(state.charges_us([3, 0], capacity))

    capacity.set_workers([(1, 60, "default", 0, True)])

    assert [2000, 0, 2001] == list(state.charges_us([3, 0, 2001], capacity))
