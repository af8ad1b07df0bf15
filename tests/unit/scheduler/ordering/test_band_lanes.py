"""What one tenant's lanes in several bands share, and how they age."""

from dataclasses import replace

import pytest

from fairlead.policy import parse
from fairlead.policy.cel.variables import Workers
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.ordering.aging import Aging
from fairlead_scheduler.ordering.lanes import Lane, Queue
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.pending.cursors import LaneHeads
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.values import Head, PendingJob
from fairlead_scheduler.policy.compiled import Bands, compile_policy
from fairlead_scheduler.policy.settings import FairSettings, KeyLimit, ShortSettings
from fairlead_scheduler.rules.evaluator import EvaluationClocks, RuleEvaluator
from tests.support.fair_bench import MS, Bench
from tests.support.tables import table

SECOND = 1_000_000
URGENT, NORMAL, BULK = -5, 0, 5
THREE = Bands(
    names=("urgent", "normal", "bulk"),
    waits_us=(0, 10 * SECOND, 60 * SECOND),
    ranks=((-100, -1, 0), (0, 0, 1)),
)
RULED = """
bands: [{name: urgent, priorities: {from: 1}}, {name: rest, maxWait: 1h}]
queues: [{match: {queue: q}, tenants: {default: {rate: {limit: 2, per: 1m}}}}]
rules: [{when: lane.oldest_wait_s > 30.0, weightFactor: 2}]
"""


def banded() -> Bench:
    """Return a bench with bands by priority."""
    return Bench(replace(table({}), bands=THREE))


def active(bench: Bench) -> list[str]:
    """Return the tenants of the lanes that wait for service, band by band."""
    queues = [queue for ledger in bench.order.ledgers for queue in ledger.queues.values()]
    return [lane.tenant for queue in queues for lane in queue.all_lanes() if lane.active]


def test_work_queue_is_as_deep_in_time_with_bands_as_without() -> None:
    """Slots, eight rows and what takes all slots 100 ms; a band below waits for those above."""
    bench = banded()
    bench.add("q/a", *[10] * 9, rank=NORMAL)
    bench.add("q/b", *[1000] * 99, rank=URGENT)

    jobs = bench.plan(1000, slots=10)

    assert {"b"} == {bench.names[job.id].rstrip("0123456789") for job in jobs}
    assert 10 + 8 == len(jobs)


def test_a_rate_counts_over_all_bands_while_a_rule_is_for_some_of_them() -> None:
    """A rule about lanes may hold for a tenant's lane in one band alone: its rate is one."""
    bench = Bench(compile_policy(parse(RULED), stored=1))
    bench.now_us = 100 * SECOND
    bench.add("q/a", *[1] * 9, rank=BULK)
    clocks = EvaluationClocks(lambda: bench.now_us / SECOND, lambda: 0.0)
    evaluator = RuleEvaluator(Metrics().policy.rules, lambda _: None, clocks)
    evaluator.evaluate(bench.order, lambda _: Workers(8, 8), bench.now_us)
    assert 2 == len(bench.plan())
    bench.now_us += 61 * SECOND
    evaluator.evaluate(bench.order, lambda _: Workers(8, 8), bench.now_us)
    bench.plan(0)
    bench.add("q/a", *[1] * 9, rank=URGENT)

    assert 2 == len(bench.plan())


def test_the_lanes_of_a_tenant_are_found_without_scanning_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A lane costs the same to make and to give other terms among ten thousand."""
    bench = banded()
    bench.add("q/a", 1, 1, rank=BULK)
    bench.add("q/b", 1, rank=BULK)
    bench.now_us += 60 * SECOND
    bench.plan(0)

    def every(_: Queue) -> None:
        pytest.fail("scanned all lanes")

    monkeypatch.setattr(Queue, "all_lanes", every)

    found = bench.order.ledgers[0].context.members("q", "a")

    bands = [(lane.band, lane.aged) for lane in found if isinstance(lane, Lane)]
    assert [(0, None), (1, 2), (2, None)] == bands


def test_a_lane_of_aged_jobs_rests_when_no_more_of_them_come() -> None:
    """With nothing eligible V stands still: a lane without jobs does not wait."""
    bench = banded()
    bench.add("q/bulk", 1, rank=BULK)
    bench.heads.missed([PendingJob(99, 99, "q", "bulk", BULK, None, 0)])
    bench.now_us += 60 * SECOND
    assert "bulk1" == bench.claim_order(bench.plan())

    for want in bench.heads.next_requests(9):
        bench.heads.filled(want.stream, [], want.limit)
    bench.plan()

    assert [] == active(bench)


def test_a_lane_of_aged_jobs_rests_while_those_that_come_are_young() -> None:
    """They wait in their own band."""
    bench = banded()
    bench.add("q/bulk", 1, rank=BULK)
    bench.heads.missed([PendingJob(99, 99, "q", "bulk", BULK, None, 0)])
    bench.now_us += 60 * SECOND
    bench.plan(1)

    for want in bench.heads.next_requests(9):
        bench.heads.filled(want.stream, [Head(99, 99, MS, bench.now_us)], want.limit)
    bench.plan(0)

    assert ["bulk"] == active(bench)


def test_aged_jobs_in_flight_that_a_new_leader_is_offered_take_no_turn() -> None:
    """It reads each lane from its beginning, and finds the jobs in the band where they are."""
    bench = banded()
    rows = [QueueRow(job_id, "q", "bulk", 0, MS, 1, 1) for job_id in (1, 2)]
    bench.adopt(rows, bench.now_us)
    bench.heads = Heads(in_flight=bench.order.in_flight)
    bench.heads.scanned_first([PendingJob(1, 1, "q", "bulk", BULK, None, None)])
    for want in bench.heads.next_requests(9):
        heads = [Head(each, each, MS, None) for each in (1, 2, 3, 4)]
        bench.heads.filled(want.stream, heads, want.limit)

    assert [3, 4] == [job.id for job in bench.plan(2)]


def test_a_turn_checks_few_aged_jobs() -> None:
    """A lane has up to 2,048 heads, and each turn counts its aged ones."""
    heads = LaneHeads("q", "a", 1)
    heads.ready.extend(Head(each, each, None, 0) for each in range(2048))

    assert 16 == Aging((0, SECOND), 0).aged(heads, 0, 2 * SECOND)
    assert 0 == Aging((0, SECOND), 0).aged(heads, 0, SECOND - 1)


def test_aged_jobs_are_long_if_those_of_their_lane_are() -> None:
    """A tenant's mean run time is known in every band."""
    short = ShortSettings(per_10_000=5000, lowest=1, shorter_us=2 * SECOND)
    bench = banded()
    kept = replace(bench.order.table, digest="k", settings=FairSettings(turn_us=0, short=short))
    bench.order.apply(kept, 0)
    bench.add("q/bulk", None, rank=BULK)
    bench.run(bench.plan(slots=2), 5000)
    bench.add("q/long", 5000, rank=URGENT)
    bench.plan(slots=2)
    bench.add("q/bulk", None, None, rank=BULK)
    bench.now_us += 60 * SECOND

    assert () == bench.plan(slots=2)


def test_a_key_is_given_back_once_by_a_job_that_seems_to_be_in_two_bands() -> None:
    """It comes back to its band before the ending of its aged run was read."""
    one = {"payload.account": "1"}
    keyed = table({}, keys={"q": (KeyLimit("payload.account", 2),)})
    bench = Bench(replace(keyed, bands=THREE))
    bench.add("q/a", 1, rank=BULK, fields=one)
    bench.now_us += 60 * SECOND
    bench.plan()
    assert "a1" == bench.claim_order(bench.plan())
    assert 1 == bench.bands[1]
    bench.heads.discovered([PendingJob(1, 50, "q", "a", BULK, MS, bench.now_us)])
    assert () == bench.plan() + bench.plan() + bench.plan()

    bench.order.claimed([1], bench.now_us)
    bench.order.ended([1], [MS])
    bench.add("q/b", 1, 1, 1, rank=NORMAL, fields=one)

    assert 2 == len(bench.plan() + bench.plan())


def test_bands_that_come_during_an_audit_keep_what_they_dispatch() -> None:
    """What an event has touched since the read began is left alone, also in a new band."""
    bench = Bench()
    bench.order.begin_reconcile()
    bench.order.apply(replace(table({}), bands=THREE, digest="b"), bench.now_us)
    bench.add("q/a", 1, rank=BULK)
    assert 1 == len(bench.plan())

    assert 0 == bench.reconcile([], bench.now_us)
    assert 1 in bench.order.in_flight
