"""What a pool's jobs are charged at least, and what its orders know of its workers."""

from fairlead_scheduler.capacity.pool_state import PoolState
from fairlead_scheduler.capacity.workers import Capacity
from fairlead_scheduler.ordering.router import Router
from tests.support.fair_bench import Bench


def test_a_job_is_charged_its_part_of_the_dispatch_at_least() -> None:
    """Of 60 slots a 30,000th of a second; what had no slot costs nothing."""
    router, capacity = Router("default"), Capacity()
    router.adopt((), 0, {"default": (0,)}, ())
    state = PoolState(router.served[0], ceiling=2000)
    assert [3, 0] == list(state.charges_us([3, 0], capacity))

    capacity.set_workers([(1, 60, "default", 0, True)])

    assert [2000, 0, 2001] == list(state.charges_us([3, 0, 2001], capacity))


def test_what_waits_at_a_gate_of_its_worker_keeps_no_other_job_out() -> None:
    """Eight of the jobs that the worker holds need no slot, so eight more may be queued."""
    bench, capacity = Bench(), Capacity()
    state = PoolState(bench.pool, ceiling=2000)
    bench.add("q/a", *[None] * 51)
    bench.run(bench.plan(1, slots=10), 1000)
    claimed = [row.id for row in bench.plan(1000, slots=10)]
    bench.order.claimed(claimed, bench.now_us)
    capacity.claimed(1, claimed)
    more: list[int] = []
    for beside in (0, 8):
        capacity.set_workers([(1, 10, "default", beside, True)])
        state.next_size(capacity, bench.now_us, pending=True, round_us=11_000)
        more.append(len(bench.plan(1000, slots=10)))

    assert [0, 8] == more
