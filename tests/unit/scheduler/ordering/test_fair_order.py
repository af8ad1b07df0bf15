"""The fair order, decision by decision."""

import pytest

from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.ordering.router import PoolSize, Router
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.values import Head, PendingJob
from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.policy.settings import FairSettings
from tests.support.fair_bench import MS, Bench, decide


@pytest.mark.parametrize(
    ("story", "lanes", "expected"),
    [
        (
            "equal lanes take turns",
            {"q/a": (100, 100, 100), "q/b": (100, 100, 100)},
            "a1 b1 a2 b2 a3 b3",
        ),
        (
            "turns are of slot-time, not of jobs",
            {"q/a": (300, 300), "q/b": (100, 100, 100, 100)},
            "a1 b1 b2 b3 a2 b4",
        ),
        (
            "a lane alone has its jobs in their order",
            {"q/a": (100, 1, 100)},
            "a1 a2 a3",
        ),
        (
            "queues share equally, however many tenants they have",
            {"q/a": (100, 100), "q/b": (100, 100), "q/c": (100,), "r/d": (100, 100, 100)},
            "a1 d1 b1 d2 c1 d3 a2 b2",
        ),
        (
            "inside a queue its tenants share, whatever the other queues do",
            {"q/a": (100, 100, 100, 100), "q/b": (100,), "r/c": (100,)},
            "a1 c1 b1 a2 a3 a4",
        ),
    ],
)
def test_the_smallest_tag_goes_first(
    story: str, lanes: dict[str, tuple[int, ...]], expected: str
) -> None:
    """Per lane a virtual start tag; dispatch the smallest, between queues, then inside."""
    bench = Bench()
    for lane, costs_ms in lanes.items():
        bench.add(lane, *costs_ms)

    claimed = bench.claim_order(bench.plan())

    assert expected == claimed, story


def test_a_higher_priority_goes_first_inside_a_lane() -> None:
    """Inside a lane, higher priority first: rank is the priority's negative."""
    bench = Bench()
    bench.add("q/a", 100, 100)
    bench.add("q/a", 100, rank=-5)

    assert "a3 a1 a2" == bench.claim_order(bench.plan())


def test_a_weight_is_a_share() -> None:
    """S_i += c/w_i: a lane of weight 2 has twice the slot-time."""
    bench = Bench(weights={("q", "a"): 2.0})
    bench.add("q/a", 100, 100, 100, 100)
    bench.add("q/b", 100, 100)

    assert "a1 b1 a2 a3 b2 a4" == bench.claim_order(bench.plan())


def test_jobs_that_take_the_fleet_no_time_share_a_turn() -> None:
    """Ten thousand lanes of short jobs would otherwise cost more to order than to run."""
    bench = Bench(turn_us=1 * MS, prior_us=5 * MS)
    bench.add("q/a", 5, 5, 5, 5)
    bench.add("q/b", 20, 20)

    jobs = bench.plan(slots=10)

    assert "a1 a2 b1 a3 a4 b2" == bench.claim_order(jobs)


def test_no_plan_is_longer_than_the_room() -> None:
    """Never longer than the depth's target minus what is unclaimed."""
    bench = Bench()
    bench.add("q/a", *[100] * 10)

    assert [4, 0, 3] == [
        len(bench.plan(4)),
        len(bench.plan(0)),
        len(bench.plan(3)),
    ]


def test_a_lane_that_overtakes_goes_past_the_depth() -> None:
    """A quieter lane may go past the depth limit, up to the slots."""
    bench = Bench()
    bench.add("q/noisy", *[100] * 10)
    noisy = bench.plan(5)
    bench.add("q/quiet", 100, 100)

    quiet = bench.plan(0)

    assert "noisy1 quiet1 noisy2 quiet2 noisy3 noisy4 noisy5" == bench.claim_order(
        (*noisy, *quiet)
    )


def test_a_lane_that_was_known_before_its_heads_are_read_overtakes_too() -> None:
    """It begins to wait when its heads arrive."""
    bench = Bench()
    bench.add("q/noisy", *[100] * 10)
    bench.plan(5)
    bench.heads.missed([PendingJob(99, 99, "q", "quiet", 0, 100 * MS, 0)])
    bench.plan(0)
    (want,) = bench.heads.next_requests(1)
    bench.heads.filled(want.stream, [Head(99, 99, 100 * MS, 0)], want.limit)

    assert [99] == [job.id for job in bench.plan(0)]


def test_overtaking_ends_at_the_slots_past_the_depth() -> None:
    """At most slots + depth rows are unclaimed."""
    bench = Bench()
    bench.add("q/noisy", *[100] * 10)
    bench.plan(10)
    bench.add("q/quiet", *[1] * 10)

    assert 3 == len(bench.plan(0, slots=3))


def test_a_quiet_queue_goes_past_the_depth_as_well() -> None:
    """Between queues the same holds as between tenants."""
    bench = Bench()
    bench.add("q/noisy", *[100] * 10)
    noisy = bench.plan(5)
    bench.add("r/quiet", 100)

    quiet = bench.plan(0)

    assert bench.claim_order((*noisy, *quiet)).startswith("noisy1 quiet1")


def test_a_hint_raises_what_a_job_is_charged_and_never_lowers_it() -> None:
    """No lower than the prior before a job has ended, nor than what jobs took afterwards."""
    bench = Bench()
    bench.add("q/a", 1, None, 300)
    first = bench.plan()
    bench.run(first, 200)
    bench.add("q/a", 1, None, 900)

    assert [100, 100, 300] == [job.estimate_us // MS for job in first]
    assert [314, 314, 600] == [job.estimate_us // MS for job in bench.plan()]


def test_a_lane_that_was_idle_has_no_credit() -> None:
    """Activation: S = max(S, V); idleness earns nothing."""
    bench = Bench()
    bench.add("q/a", *[100] * 10)
    bench.run(bench.plan(), 100)
    bench.add("q/b", *[100] * 20)
    bench.run(bench.plan(10), 100)

    bench.add("q/a", 100, 100, 100)

    assert "a11 b11 a12 b12" == bench.picked(4)


def test_a_lane_that_used_idle_capacity_is_not_punished() -> None:
    """No other lane wanted the capacity, so none is owed any."""
    bench = Bench()
    bench.add("q/a", *[100] * 10)
    bench.run(bench.plan(), 60_000)

    bench.add("q/b", 100, 100, 100)
    bench.add("q/a", 100, 100, 100)

    assert "a11 b1 a12 b2" == bench.picked(4)


def test_at_equal_tags_the_lane_with_nothing_in_flight_goes_first() -> None:
    """The tie is broken towards the lane with nothing in flight."""
    bench = Bench()
    bench.add("q/a", 100, 100)
    bench.add("q/b", 100, 100)
    bench.picked(2)
    bench.order.ended([3], [100 * MS])

    assert "b2 a2" == bench.picked(2)


def test_a_lane_at_twice_its_share_stands_back() -> None:
    """In-flight cap: beta times the fair share of the slots while others have less."""
    bench = Bench(prior_us=1 * MS)
    bench.add("q/a", 1, 1, 1, 1)
    bench.add("q/b", 10, 10, 10, 10)

    assert "a1 b1 a2 b2 a3 a4" == bench.picked(6, slots=2), "b2 before a3 in spite of its tag"


def test_the_cap_lets_no_slot_stand_idle() -> None:
    """Work-conserving: while no other lane waits a lane may have all slots."""
    bench = Bench()
    bench.add("q/a", *[1] * 10)

    assert 10 == len(bench.plan(10, slots=2))


def test_a_long_run_is_charged_while_it_lasts() -> None:
    """For running jobs with elapsed > charged: S_i += elapsed - charged."""
    bench = Bench(prior_us=1 * MS)
    bench.add("q/slow", 1, 1)
    bench.add("q/fast", 1, *[10] * 10)
    jobs = bench.plan(2)
    bench.order.claimed([job.id for job in jobs], bench.now_us)
    bench.order.ended([3], [1 * MS])
    bench.now_us += 50 * MS

    assert "fast2 fast3 fast4 fast5 fast6 fast7 fast8 slow2" == bench.picked(8)


def test_the_end_of_a_run_settles_its_charge() -> None:
    """Completion: S_i += actual - charged, a refund or more."""
    bench = Bench()
    bench.add("q/a", 100, 10)
    bench.add("q/b", 100, 10)
    jobs = bench.plan(2)
    bench.order.claimed([1, 3], bench.now_us)
    bench.order.ended([3], [10 * MS])

    assert "a1 b1" == bench.claim_order(jobs)
    assert "b2 a2" == bench.picked(2)


def test_a_refused_dispatch_costs_nothing() -> None:
    """Dispatch did not take them: refund."""
    bench = Bench()
    bench.add("q/a", 100, 100, 100)
    bench.add("q/b", 100)
    bench.plan(1)

    bench.order.refused([1], "default")

    assert 0 == bench.pool.unclaimed
    assert "a2 b1 a3" == bench.picked(3)


def test_what_a_lost_attempt_ran_stays_charged() -> None:
    """Back in the queue unclaimed: the elapsed time stays charged."""
    bench = Bench(prior_us=10 * MS)
    bench.add("q/a", 10, 10)
    bench.add("q/b", *[10] * 8)
    bench.order.claimed([job.id for job in bench.plan(2)], bench.now_us)

    bench.order.returned([1], bench.now_us + 50 * MS)

    assert 1 == bench.pool.unclaimed
    assert "b2 b3 b4 b5" == bench.picked(4)


def test_recalled_jobs_are_heads_again_at_no_cost() -> None:
    """Recalled ids go straight back to the heads."""
    bench = Bench()
    bench.add("q/a", 100, 100)
    jobs = bench.plan()

    unknown = bench.order.recalled([job.id for job in jobs], bench.heads)

    assert () == unknown
    assert "a1 a2" == bench.claim_order(bench.plan())


def test_an_adopted_job_that_is_recalled_has_to_be_asked_for() -> None:
    """The take-over's read knows no place in the lane."""
    bench = Bench()
    bench.adopt([QueueRow(7, "q", "a", 5, 100, None)], 0)

    assert (7, 8) == bench.order.recalled([7, 8], bench.heads)


@pytest.mark.parametrize(
    ("paused", "expected"), [("q", "c1"), ("q/a", "b1 c1"), ("r", "a1 b1"), ("s", "a1 c1 b1")]
)
def test_what_is_paused_is_not_dispatched(paused: str, expected: str) -> None:
    """No new dispatch of a paused queue, or tenant of a queue."""
    bench = Bench()
    bench.add("q/a", 100)
    bench.add("q/b", 100)
    bench.add("r/c", 100)

    assert expected == bench.claim_order(bench.plan(paused=paused))


def test_what_is_resumed_is_dispatched() -> None:
    """Resume ends a pause from the next plan on."""
    bench = Bench()
    bench.add("q/a", 100)
    bench.plan(paused="q")

    assert "a1" == bench.claim_order(bench.plan())


def test_unclaimed_rows_of_what_is_paused_are_named_for_recall() -> None:
    """Queued ones are recalled; what runs finishes."""
    bench = Bench()
    bench.add("q/a", 100, 100)
    bench.add("r/b", 100)
    bench.plan()
    bench.order.claimed([1], 0)

    assert (2,) == bench.order.unclaimed_of(frozenset({("q", None)}))


def test_an_id_in_flight_is_not_planned_again_but_named() -> None:
    """One whose ending has not been read yet would otherwise be lost until the next sweep."""
    bench = Bench()
    bench.add("q/a", 100)
    bench.plan()
    again = PendingJob(1, 2, "q", "a", 0, None, None)
    bench.heads.discovered([again])

    plan = bench.decide(0, 1, 10)

    assert ((), (1,)) == (plan.rows, plan.doubtful)


def test_any_number_of_jobs_can_overtake_one_that_is_far_ahead() -> None:
    """Claim order follows the tenants' order, also where a row stands far ahead."""
    bench = Bench()
    bench.add("q/slow", 100, 60_000, 60_000)
    bench.plan(3)
    for _ in range(300):
        bench.add("q/a", 7)
        bench.add("q/b", 7)

    jobs = bench.plan()

    names = bench.claim_order(jobs).split()
    assert [f"{tenant}{n}" for n in range(1, 301) for tenant in "ab"] == names


def test_a_new_leader_continues_from_the_queue_that_it_finds() -> None:
    """Recovery: the queues go on from their largest tags, so new rows stand behind the old."""
    bench = Bench()
    bench.adopt(
        [QueueRow(1, "q", "a", 500, 100, None), QueueRow(2, "q", "a", 400, 100, 5)],
        0,
        floors=(450,),
    )
    bench.heads = Heads(in_flight=bench.order.in_flight)
    bench.heads.record_scan()
    bench.names[1] = bench.names[2] = "old"
    bench.add("q/a", 100)

    (job,) = bench.plan()

    assert [1, 2, 3] == sorted(bench.order.in_flight)
    assert 450 <= bench.floor <= 500 < job.vtag


def test_a_full_read_repairs_what_was_not_reported() -> None:
    """It corrects drift without forgetting dispatches younger than the read."""
    bench = Bench()
    bench.add("q/a", 100, 100, 100, 100)
    bench.plan(3)
    bench.order.begin_reconcile()
    bench.plan(1)
    rows = [
        QueueRow(1, "q", "a", 0, 100 * MS, 77),
        QueueRow(2, "q", "a", 100, 100 * MS, None),
        QueueRow(9, "q", "z", 200, 100 * MS, None),
    ]

    wrong = bench.reconcile(rows, 99)

    assert 3 == wrong, "1 was claimed, 3 is gone, 9 is another leader's; 4 is younger"
    assert [1, 2, 4, 9] == sorted(bench.order.in_flight)
    assert 3 == bench.pool.unclaimed


def test_idle_lanes_are_forgotten_when_there_are_too_many() -> None:
    """State is bounded by the lanes that are active, not by all that ever were."""
    order = Router("default", CompiledPolicy(settings=FairSettings(idle_lanes_max=10)))
    heads = Heads(in_flight=order.in_flight)
    heads.record_scan()
    heads.discovered([PendingJob(n, n, "q", f"t{n}", 0, None, 0) for n in range(1, 101)])
    ids = [job_id for job_id, *_ in decide(order, PoolSize(100, 100), heads, 0).rows]
    order.ended(ids, [0] * len(ids))
    decide(order, PoolSize(100, 100), heads, 1)

    order.reconcile([], 2, heads)

    assert 10 == heads.streams
