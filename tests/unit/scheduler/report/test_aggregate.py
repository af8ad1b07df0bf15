"""Which tenants a report names where there are more tenants than places."""

import pytest

from fairlead_scheduler.report.aggregate import Aggregate
from fairlead_scheduler.report.lane_window import LaneWindow
from fairlead_scheduler.report.snapshot import take_snapshot
from tests.support.fair_bench import MS, Bench

SECOND = 1_000_000
TENANTS = 2200


@pytest.mark.parametrize("order", [1, -1], ids=["they come first", "they come last"])
def test_who_gets_nothing_is_named_among_thousands(order: int) -> None:
    """Five that wait longest and five farthest behind, though all others are larger."""
    bench = Bench()
    for number in range(TENANTS):
        bench.add(f"q/t{number}x", 1000)
    for _plan in range(3):
        bench.plan(0)
    look = take_snapshot(bench.order.ledgers, bench.now_us, slots=4, free=4)
    windows = [LaneWindow(lane) for lane, _ in look.ended_us]
    for window in windows:
        window.served_us = window.entitled_us = window.size_us = 5 * SECOND
        window.wait_us = SECOND
    waiting, behind = windows[:6], windows[6:12]
    for more, (first, second) in enumerate(zip(waiting, behind, strict=True)):
        first.served_us = first.entitled_us = first.size_us = 0
        first.wait_us = (900 + more) * SECOND
        second.entitled_us = second.size_us = (more + 1) * MS
        second.served_us = 0
    sums = Aggregate(look, since_us=look.at_us)

    for window in windows[::order]:
        sums.add(window)
    *_, report = sums.report()

    assert report is not None
    named = {each.tenant for each in report.tenants}
    assert {each.lane.tenant for each in (*waiting[1:], *behind[1:])} <= named
    assert not {waiting[0].lane.tenant, behind[0].lane.tenant} & named
    assert (1000, TENANTS - 1000, 900.0) == (
        len(report.tenants),
        report.other.tenants,
        report.other.oldest_wait_seconds,
    )
    assert 1.0 == pytest.approx(
        report.other.received.share + sum(each.received.share for each in report.tenants)
    )
