"""Ten thousand lanes at once: each look and each plan takes as many as it has time for."""

import pytest

from fairlead.policy import parse
from fairlead_scheduler.loop.lane_scans import LaneScans
from fairlead_scheduler.loop.state import LeaderState
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.tail import Tail
from fairlead_scheduler.pending.values import Head, PendingJob
from fairlead_scheduler.policy.compiled import CompiledPolicy, compile_policy
from fairlead_scheduler.rows import (
    Event,
    LaneRows,
    LanesScanned,
    Observed,
    QueuedRows,
    TickView,
    Worker,
)
from tests.support.fair_bench import Bench

_US = 1_000_000


def knowing(table: CompiledPolicy | None = None) -> LeaderState:
    """Return what a leader knows of an empty database."""
    queued = QueuedRows(_US, None, [], None, [], [], [], [], [], [], [])
    return LeaderState(
        pool="default",
        table=table,
        queued=queued,
        newest_id=10_000,
        queued_max=1000,
        round_us=10_000,
        tail_max=1000,
    )


def scan(count: int) -> LaneRows:
    """Return a scan that finds one job in each of so many lanes."""
    ids = list(range(1, count + 1))
    names = [f"t{number}" for number in ids]
    return LaneRows(_US, ids, ids, ["q"] * count, names, [0] * count, [_US] * count, ids, ids)


def look(knowledge: LeaderState, *news: Event) -> None:
    """Let the leader look once, and plan."""
    knowledge.next_read(_US, workers=False)
    observed = Observed(_US, 1, 1, None, None, None, None, [], [], [], [], None, None)
    view = TickView(
        observed=observed,
        receipts=[],
        fills=[],
        found=[],
        probed_all=True,
        workers=[Worker(1, 10)],
    )
    knowledge.learn(view, news)
    knowledge.plan(_US)


@pytest.mark.parametrize(
    ("limit", "jobs", "expected"),
    [(1, 11, (10, True)), (1, 12, (11, False)), (3, 10, (10, False))],
    ids=["a slot may be idle", "a row waits beside all slots", "no lane is blocked"],
)
def test_an_ending_is_awaited_where_a_limit_may_leave_a_slot_idle(
    limit: int, jobs: int, expected: tuple[int, bool]
) -> None:
    """A notifying transaction holds an instance-wide lock, so it is never asked for in vain."""
    match = f"{{match: {{tenant: t2}}, slots: {{limit: {limit}}}}}"
    queues = f"queues: [{{match: {{queue: q}}, tenants: {{overrides: [{match}]}}}}]"
    document = f"{queues}\nfairness: {{reserve: null}}"
    knowledge = knowing(compile_policy(parse(document)))
    knowledge.heads.record_scan()
    knowledge.heads.discovered(
        [
            PendingJob(each, each, "q", f"t{max(2, each)}", 0, _US, _US)
            for each in range(1, jobs + 1)
        ]
    )
    look(knowledge)

    assert expected == (len(knowledge.order.in_flight), knowledge.awaits_endings)


def test_a_scan_is_taken_in_over_several_ticks() -> None:
    """No look is longer than a tick, however many lanes there are."""
    knowledge = knowing()
    known: list[tuple[int, bool]] = []
    look(knowledge, LanesScanned(scan(1200)))
    known.append((knowledge.heads.streams, knowledge.is_behind))
    for _ in range(3):
        look(knowledge)
        known.append((knowledge.heads.streams, knowledge.is_behind))

    assert [(500, True), (1000, True), (1200, True), (1200, False)] == known


def test_two_scans_are_taken_in_one_after_the_other() -> None:
    """A scan that comes early does not take the place of the rest of the one before."""
    knowledge = knowing()
    look(knowledge, LanesScanned(scan(600)), LanesScanned(scan(700)))
    for _ in range(2):
        look(knowledge)
    assert 600 == knowledge.heads.streams
    for _ in range(3):
        look(knowledge)

    assert (700, False) == (knowledge.heads.streams, knowledge.is_behind)


def test_a_job_that_ended_before_its_lane_was_taken_in_is_no_head() -> None:
    """A scan is old when its last lanes come: what it saw is read again, not believed."""
    heads = Heads()
    heads.record_scan()
    heads.discovered([PendingJob(n, n, "q", f"t{n}", 0, None, None) for n in range(1, 601)])
    *_, lane = heads.take_changed()
    scans = LaneScans(heads, Tail(0, 0))
    scans.add(scan(600))
    scans.take()

    lane.ready.popleft()
    heads.taken(1)
    while scans.is_behind:
        scans.take()

    assert ("t600", 599, 0) == (lane.tenant, heads.total, len(lane.ready))
    assert [("q", "t600", 0)] == [want.stream for want in heads.next_requests(1000)]


def test_a_scan_reads_lanes_again_that_a_commit_may_have_joined_unseen() -> None:
    """The first after a take-over: what was open then had drawn ids that no tail follows."""
    knowledge = knowing()
    knowledge.take_scan(scan(2)._replace(in_progress=[80, 90], xmax=100))
    look(knowledge)
    asked: list[int] = []
    for left in ([90], [90], None, None):
        for want in knowledge.heads.next_requests(10):
            first = int(want.stream[1][1:])
            rows = [Head(number, number, None, None) for number in (first, first + 10)]
            heads = [row for row in rows if row.seq > want.after_seq]
            knowledge.heads.filled(want.stream, heads, want.limit)
        look(knowledge, LanesScanned(scan(2)._replace(in_progress=left, xmax=101)))
        look(knowledge)
        asked.append(len(knowledge.heads.next_requests(10)))

    assert [2, 0, 2, 0] == asked


def test_a_plan_looks_at_some_of_the_lanes_that_have_changed() -> None:
    """Those that have waited longest; the others have their turn in the next plans."""
    heads = Heads()
    heads.record_scan()
    heads.discovered([PendingJob(n, n, "q", f"t{n}", 0, None, None) for n in range(1, 1501)])
    assert not heads.is_behind

    first = heads.take_changed()
    assert (1000, True) == (len(first), heads.is_behind)
    second = heads.take_changed()
    assert (500, False) == (len(second), heads.is_behind)
    assert [f"t{n}" for n in range(1, 1501)] == [lane.tenant for lane in first + second]


def test_a_pause_holds_all_lanes_at_once_and_lets_them_go_on_some_at_a_time() -> None:
    """No new dispatch from the next tick; who may go on waits for a few plans at most."""
    bench = Bench()
    for number in range(1500):
        bench.add(f"q/t{number}-", 10)
    bench.plan(0)
    bench.plan(0)
    assert () == bench.plan(paused="q")
    assert not bench.order.is_behind

    first = bench.plan()
    assert (1000, True) == (len(first), bench.order.is_behind)
    second = bench.plan()
    assert (500, False) == (len(second), bench.order.is_behind)


def test_a_pause_that_comes_back_before_its_lanes_went_on_holds_them() -> None:
    """What was resumed and is paused again is not dispatched, whatever had no time yet."""
    bench = Bench()
    for number in range(1500):
        bench.add(f"q/t{number}-", 10)
    bench.plan(0)
    bench.plan(0)
    bench.plan(paused="q")
    bench.plan(0)

    assert () == bench.plan(paused="q")
    assert () == bench.plan(paused="q")


def test_a_pause_of_one_tenant_blocks_no_other() -> None:
    """Only those are looked at whose pause begins or is over."""
    bench = Bench()
    bench.add("q/a", 10, 10)
    bench.add("q/b", 10, 10)
    bench.plan(0)
    paused = bench.plan(paused="q/a")
    assert "b1 b2" == bench.claim_order(paused)

    assert "a1 a2" == bench.claim_order(bench.plan())
