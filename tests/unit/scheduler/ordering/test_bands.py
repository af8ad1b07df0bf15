"""Strict bands, ageing, and what bands share."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from fairlead.policy import parse
from fairlead_scheduler.explain.answer import Question, answer
from fairlead_scheduler.explain.snapshot import lane_snapshot
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.pending.values import PendingJob
from fairlead_scheduler.policy.compiled import Bands, CompiledPolicy, Terms, compile_policy
from fairlead_scheduler.policy.gcra import Rate
from fairlead_scheduler.policy.settings import KeyLimit
from tests.support.fair_bench import MS, Bench
from tests.support.tables import table

SECOND = 1_000_000
URGENT, NORMAL, BULK = -5, 0, 5
THREE = Bands(
    names=("urgent", "normal", "bulk"),
    waits_us=(0, 10 * SECOND, 60 * SECOND),
    ranks=((-100, -1, 0), (0, 0, 1)),
)


def banded(
    terms: Mapping[tuple[str, str | None], Terms] | None = None, bands: Bands = THREE
) -> Bench:
    """Return a bench with bands by priority."""
    return Bench(replace(table(terms or {}), bands=bands))


def later(bench: Bench, seconds: float) -> None:
    """Let time pass."""
    bench.now_us += round(seconds * SECOND)


def test_a_higher_band_goes_first_whatever_is_fair() -> None:
    """Strict between bands, fair inside."""
    bench = banded()
    bench.add("q/bulk", *[1] * 3, rank=BULK)
    bench.add("q/normal", *[1] * 3, rank=NORMAL)
    bench.add("q/a", 500, 500, rank=URGENT)
    bench.add("r/b", 500, 500, rank=URGENT)

    assert "a1 b1 a2 b2 normal1 normal2 normal3 bulk1" == bench.claim_order(bench.plan(8))


def test_rows_of_lower_bands_leave_a_higher_one_its_depth() -> None:
    """A higher band never waits for a lower band's rows, and a lower one gets what is left."""
    bench = banded()
    bench.add("q/bulk", *[1] * 9, rank=BULK)
    assert 4 == len(bench.decide(0, 10, 4).rows)
    bench.add("q/a", *[1] * 9, rank=URGENT)

    first, second = (
        bench.decide(MS, 10, 4),
        bench.decide(MS, 10, 4),
    )

    assert [(0, 4)] == [(part.band, len(part.rows)) for part in first.parts]
    assert () == second.rows


def test_a_lower_band_has_what_those_above_leave() -> None:
    """No idle slot with eligible work."""
    bench = banded({("q", "a"): Terms(limit=2)})
    bench.add("q/a", *[1] * 9, rank=URGENT)
    bench.add("q/b", *[1] * 9, rank=BULK)

    assert "a1 a2 b1 b2" == bench.claim_order(bench.plan(4))


@pytest.mark.parametrize(
    ("queue", "priority", "band"),
    [("q", 5, 0), ("q", 0, 1), ("q", -1, 2), ("mail", 5, 1), ("mail", -5, 1), ("q", -100, 2)],
)
def test_a_band_comes_from_the_queue_else_from_the_priority_else_it_is_the_last(
    queue: str, priority: int, band: int
) -> None:
    """DESIGN 4: a band comes from the priority range unless a queue names one."""
    policy = parse(
        "bands: [{name: a, priorities: {from: 1}}, {name: b, maxWait: 1s, priorities: "
        "{from: 0, to: 0}}, {name: c, maxWait: 2s}]\n"
        "queues: [{match: {queue: mail}, band: b}]"
    )
    found = compile_policy(policy)

    assert band == found.band_of(queue, -priority)
    assert (0, SECOND, 2 * SECOND) == found.bands.waits_us


def test_limits_count_over_all_bands() -> None:
    """A tenant cannot have more by spreading over priorities."""
    bench = banded({("q", "a"): Terms(limit=3), ("q", None): Terms(limit=4)})
    bench.add("q/a", 1, 1, rank=BULK)
    bench.add("q/a", 1, 1, rank=URGENT)
    bench.add("q/b", 1, 1, rank=NORMAL)

    assert "a3 a4 b1 b2" == bench.claim_order(bench.plan())
    bench.order.claimed([3, 4, 5, 6], bench.now_us)
    bench.order.ended([5, 6], [MS, MS])
    assert "a1" == bench.claim_order(bench.plan())
    bench.order.ended([3], [MS])
    assert "a2" == bench.claim_order(bench.plan())


def test_a_limit_that_comes_later_counts_what_runs_in_every_band() -> None:
    """The lane that gets its terms first counts the others."""
    bench = banded()
    bench.add("q/a", 1, 1, rank=BULK)
    bench.add("q/a", 1, 1, rank=URGENT)
    bench.order.claimed([job.id for job in bench.plan()], bench.now_us)
    bench.add("q/a", 1, 1, rank=NORMAL)
    limited = replace(table({("q", "a"): Terms(limit=5)}), bands=THREE, digest="limited")

    bench.order.apply(limited, bench.now_us)

    assert 1 == len(bench.plan())


def test_rates_count_over_all_bands() -> None:
    """Two a second are two a second."""
    bench = banded({("q", "a"): Terms(rates=(Rate(2, SECOND, 2),))})
    bench.now_us = 5 * SECOND
    bench.add("q/a", 1, 1, rank=BULK)
    bench.add("q/a", 1, rank=URGENT)

    assert "a3 a1" == bench.claim_order(bench.plan())
    plan = bench.decide(bench.now_us + SECOND // 2, 1, 10)
    assert 1 == len(plan.rows)
    assert 1 == len(plan.used)


def test_a_key_counts_over_all_bands() -> None:
    """One job of each account, whatever their priorities; the higher band has it first."""
    demands = {"q": (KeyLimit("payload.account", 1),)}
    one, two = {"payload.account": "1"}, {"payload.account": "2"}
    bench = Bench(replace(table({}, keys=demands), bands=THREE))
    bench.add("q/a", 1, 1, rank=BULK, fields=one)
    bench.add("q/b", 1, rank=BULK, fields=two)
    bench.plan()
    assert "a1 b1" == bench.claim_order(bench.plan())
    bench.add("q/c", 1, rank=URGENT, fields=one)
    bench.plan()
    assert () == bench.plan()

    bench.order.claimed([1], bench.now_us)
    bench.order.ended([1], [MS])

    assert "c1" == bench.claim_order(bench.plan())
    assert () == bench.plan()
    bench.order.claimed([4], bench.now_us)
    bench.order.ended([4], [MS])
    assert "a2" == bench.claim_order(bench.plan())


def test_a_key_that_comes_later_counts_what_runs_in_every_band() -> None:
    """Its values are read of all that is in flight before anything of the queue goes."""
    account = {"payload.account": "1"}
    bench = banded()
    bench.add("q/a", 1, rank=BULK, fields=account)
    bench.add("q/a", 1, rank=URGENT, fields=account)
    bench.plan()
    bench.add("q/a", 1, rank=NORMAL, fields=account)
    keyed = replace(table({}, keys={"q": (KeyLimit("payload.account", 2),)}), bands=THREE)

    bench.order.apply(replace(keyed, digest="keyed"), bench.now_us)

    assert [(), (), ()] == [bench.plan() for _ in range(3)]
    bench.order.claimed([1], bench.now_us)
    bench.order.ended([1], [MS])
    assert [3] == [job.id for _ in range(3) for job in bench.plan()]


def test_an_aged_job_is_chosen_as_keys_allow() -> None:
    """A head that a key blocks stays where it is, and what has not aged stays in its band."""
    demands = {"q": (KeyLimit("payload.account", 1),)}
    one, two = {"payload.account": "1"}, {"payload.account": "2"}
    bench = Bench(replace(table({}, keys=demands), bands=THREE))
    bench.add("q/x", 1, rank=URGENT, fields=one)
    bench.plan()
    bench.plan()
    bench.add("q/a", 1, rank=BULK, fields=one)
    later(bench, 60)
    bench.add("q/a", 1, rank=BULK, fields=two)
    bench.add("q/busy", *[1] * 99, rank=NORMAL, fields={})
    bench.plan(0)

    names = [bench.claim_order(bench.plan(1)) for _ in range(4)]

    assert all(each.startswith("busy") for each in names)
    bench.order.claimed([1], bench.now_us)
    bench.order.ended([1], [MS])
    assert "a1" in bench.claim_order(bench.plan(3)).split()


def test_a_pause_is_for_every_band() -> None:
    """No new dispatch, and what waits is recalled."""
    bench = banded()
    bench.add("q/a", 1, rank=BULK)
    bench.add("q/a", 1, rank=URGENT)
    bench.plan()

    assert (1, 2) == bench.order.unclaimed_of(frozenset({("q", "a")}))
    bench.add("q/a", 1, rank=NORMAL)
    assert () == bench.plan(paused="q/a")


def test_a_reserve_counts_over_all_bands() -> None:
    """In flight in any of them."""
    bench = banded({("q", "a"): Terms(reserve=2)})
    bench.add("q/b", *[1] * 9, rank=BULK)
    bench.add("q/a", 500, 500, rank=URGENT)
    assert "a1 a2" == bench.claim_order(bench.plan(2))
    bench.add("q/a", 500, rank=BULK)

    assert () == bench.plan(0, slots=1)


def test_a_job_that_waits_too_long_goes_into_the_band_above() -> None:
    """A lane head that waits longer than maxWait is promoted one band."""
    bench = banded()
    bench.add("q/bulk", 1, 1, rank=BULK)
    later(bench, 60)
    bench.add("q/busy", *[1] * 500, rank=NORMAL)

    jobs = bench.plan(4)

    assert "busy1 bulk1 busy2 bulk2" == bench.claim_order(jobs)
    assert {1} == {bench.bands[job.id] for job in jobs}


def test_what_has_not_waited_long_enough_stays_in_its_band() -> None:
    """Each job ages by itself; those behind an aged one go as its lane does, in their time."""
    bench = banded()
    bench.add("q/bulk", 1, rank=BULK)
    later(bench, 59.9)
    bench.add("q/bulk", 1, rank=BULK)
    bench.add("q/busy", *[1] * 500, rank=NORMAL)
    assert "busy1 busy2" == bench.picked(2)

    later(bench, 0.2)

    assert "bulk1 busy3 busy4" == bench.picked(3)
    later(bench, 9)
    assert "busy5 busy6" == bench.picked(2)


def test_a_job_climbs_band_by_band() -> None:
    """It waits the longest wait of each."""
    bench = banded()
    bench.add("q/bulk", 1, rank=BULK)
    bench.add("q/busy", *[1] * 500, rank=URGENT)
    bench.plan(1)
    later(bench, 69.9)
    assert "busy2" == bench.picked(1)

    later(bench, 0.2)

    jobs = bench.plan(2)
    assert "bulk1 busy3" == bench.claim_order(jobs)
    assert {0} == {bench.bands[job.id] for job in jobs}


def test_aged_jobs_do_not_go_before_all_others_of_their_tenant() -> None:
    """They are a lane of their own, so neither starves the other."""
    bench = banded()
    bench.add("q/a", *[1] * 99, rank=BULK)
    later(bench, 60)
    bench.add("q/a", *[1] * 99, rank=NORMAL)

    names = bench.picked(20).split()

    assert 10 == sum(int(name[1:]) > 99 for name in names)


def test_an_aged_job_counts_for_its_tenants_limit() -> None:
    """In whichever band it goes."""
    bench = banded({("q", "a"): Terms(limit=1)})
    bench.add("q/a", 1, 1, rank=BULK)
    later(bench, 60)
    bench.add("q/busy", *[1] * 500, rank=NORMAL)

    assert "busy1 a1 busy2" == bench.claim_order(bench.plan(3))
    assert "busy3 busy4" == bench.picked(2)
    bench.order.claimed([1], bench.now_us)
    bench.order.ended([1], [MS])
    assert "a2" == bench.claim_order(bench.plan(1))[:2]


def test_a_row_that_waits_too_long_for_a_worker_is_recalled_and_goes_above() -> None:
    """Also when its row is dispatched and unclaimed in the lower band."""
    bench = banded()
    bench.add("q/bulk", 1, 1, rank=BULK)
    bench.plan(1)
    later(bench, 60)
    bench.add("q/busy", *[1] * 500, rank=NORMAL)
    bench.plan(5)
    assert (1,) == bench.order.overdue_rows(bench.now_us)

    assert () == bench.order.recalled([1], bench.heads)

    assert bench.claim_order(bench.plan(2)).startswith("bulk1")
    assert 1 == bench.bands[1]
    assert () == bench.order.overdue_rows(bench.now_us)


def test_nothing_is_recalled_that_is_the_next_to_be_claimed() -> None:
    """With nothing queued above it, a row waits for workers only."""
    bench = banded()
    bench.add("q/bulk", 1, rank=BULK)
    bench.plan()
    later(bench, 100)

    assert () == bench.order.overdue_rows(bench.now_us)


def test_a_new_leader_counts_the_rows_of_every_band() -> None:
    """The take-over rebuilds bands from work_queue.band."""
    bench = banded({("q", "a"): Terms(limit=3)})
    rows = [QueueRow(100 + n, "q", "a", 7 + n, 100, None, n) for n in range(3)]
    bench.adopt(rows, 0, (7, 8, 9))
    bench.add("q/a", 1, rank=URGENT)

    assert (3, (7, 8, 9)) == (bench.pool.unclaimed, bench.pool.floors)
    assert () == bench.plan()
    bench.order.begin_reconcile()
    assert 0 == bench.reconcile(rows, 0)
    assert 1 == bench.reconcile(rows[:2], 0)
    assert 1 == len(bench.plan())


def test_bands_come_and_go_with_the_policy() -> None:
    """What waits is sorted anew, and what stands in the wrong band is recalled."""
    bench = banded(bands=Bands())
    bench.add("q/bulk", *[1] * 3, rank=BULK)
    bench.add("q/a", *[1] * 3, rank=URGENT)
    bench.plan(2)

    bench.order.apply(replace(table({}), bands=THREE, digest="three"), bench.now_us)
    bulk = [i for i in bench.order.surplus_rows() if bench.names[i].startswith("bulk")]
    assert bulk == list(bench.order.surplus_rows())
    bench.order.recalled(bulk, bench.heads)
    assert (("a2 a3") if bulk else "a1 a2") == bench.picked(2)
    rest = bench.claim_order(bench.plan())
    assert rest.endswith("bulk3")

    bench.order.apply(replace(table({}), digest="one"), bench.now_us)
    for job_id in bench.order.surplus_rows():
        bench.order.recalled([job_id], bench.heads)
    bench.plan()
    assert {0} == {bench.bands[i] for i in bench.order.in_flight}
    assert () == bench.order.surplus_rows()


def test_a_lane_below_others_is_explained_by_its_band() -> None:
    """blocked_on: band."""
    bench = banded()
    bench.add("q/bulk", 1, rank=BULK)
    bench.add("q/busy", *[1] * 9, rank=NORMAL)
    bench.plan(2)

    snapshot = lane_snapshot(
        bench.order, "q", "bulk", rank=BULK, now_us=bench.now_us, slots=9, free=9
    )

    assert snapshot is not None
    found = answer(Question(1, "q", "bulk", 0, BULK), snapshot)
    assert ("band", "bulk") == (found.blocked_by, snapshot.band)


def test_one_band_is_what_a_policy_without_bands_has() -> None:
    """Priorities order the jobs of a tenant, as ever."""
    bench = Bench(CompiledPolicy())
    bench.add("q/a", 1, rank=BULK)
    bench.add("q/b", 1, rank=URGENT)
    bench.heads.discovered([PendingJob(9, 9, "q", "a", URGENT, MS, 0)])
    bench.names[9] = "a9"

    assert "a9 b1 a1" == bench.claim_order(bench.plan())
    assert 1 == bench.order.bands
