"""What a lane waits for, and since when, from snapshots of its ledger."""

from fairlead_scheduler.report.lane_window import LaneWindow
from fairlead_scheduler.report.snapshot import LedgerSnapshot, take_snapshot
from tests.support.fair_bench import MS, Bench


def snapshot_of(bench: Bench) -> LedgerSnapshot:
    """Return what a report would be made of now."""
    return take_snapshot(bench.order.ledgers, bench.now_us, slots=4, free=4)


def test_a_tenant_whose_next_jobs_are_being_read_still_waits() -> None:
    """All that was read of its lane is claimed; more is there, and not yet in memory."""
    bench = Bench()
    bench.add("q/a", 1000, 1000)
    bench.plan(0)
    (ledger,) = bench.order.ledgers
    lane = ledger.queues["q"].tenants["a"]
    window = LaneWindow(lane)
    window.note(snapshot_of(bench), 0)
    assert MS == window.wait_us

    lane.heads.streams[0].note_beyond(1000)
    jobs = [each.id for each in bench.plan(2)]
    bench.order.claimed(jobs, bench.now_us)
    window.note(snapshot_of(bench), 0)

    assert (2, 0) == (len(jobs), len(lane.heads.streams[0].ready))
    assert ("turn", 2 * MS) == (window.blocked_by, window.wait_us)
