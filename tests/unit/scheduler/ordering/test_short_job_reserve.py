"""Which jobs may use the slots that are reserved for short jobs."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from fairlead.policy import parse
from fairlead_scheduler.ordering.lanes import Lane, Queue
from fairlead_scheduler.ordering.levels.accounts import Branch
from fairlead_scheduler.ordering.reserve.blocked_lanes import BlockedAccounts
from fairlead_scheduler.pending.values import Head
from fairlead_scheduler.policy.compiled import (
    CompiledPolicy,
    QueueTerms,
    Terms,
    compile_policy,
)
from fairlead_scheduler.policy.settings import FairSettings, ShortSettings
from tests.support.fair_bench import Bench
from tests.support.planned import Planned

SECOND = 1_000_000
LONG_MS, SHORT_MS = 5000, 100
SLOTS = 20
"""Of which the default keeps 2, and half of these for lanes of which nothing is known."""


def bench_of() -> Bench:
    """Return a bench with the default reserve."""
    bench = Bench()
    settings = FairSettings(turn_us=0, short=ShortSettings())
    bench.order.apply(replace(CompiledPolicy(digest="kept"), settings=settings), 0)
    return bench


def let_run(bench: Bench, lane: str, *runs_ms: int) -> None:
    """Let jobs of a lane run one by one."""
    for run_ms in runs_ms:
        bench.add(lane, None)
        bench.run(bench.plan(slots=SLOTS), run_ms)


def names(bench: Bench, jobs: Sequence[Planned]) -> str:
    """Return the names of jobs in the order of their ids."""
    return " ".join(bench.names[job.id] for job in sorted(jobs))


@pytest.mark.parametrize(
    ("slots", "long"), [(1, 9), (3, 11), (4, 3), (9, 8), (19, 18), (20, 18), (40, 36)]
)
def test_a_tenth_and_at_least_one_slot_is_kept_from_four_slots_on(
    slots: int, long: int
) -> None:
    """Without one, eight jobs more than there are slots are queued."""
    bench = bench_of()
    bench.add("q/a", *[LONG_MS] * 40)

    assert long == len(bench.plan(slots=slots))


@pytest.mark.parametrize(
    ("document", "long"),
    [
        ("{}", 18),
        ("fairness: {reserve: {}}", 18),
        ("fairness: {reserve: null}", 28),
        ("fairness: {reserve: {percent: 50}}", 10),
        ("fairness: {reserve: {min: 5}}", 15),
    ],
)
def test_null_keeps_nothing_and_what_is_left_out_is_the_default(
    document: str, long: int
) -> None:
    """An explicit null switches the reserve off."""
    bench = Bench()
    bench.order.apply(compile_policy(parse(document), stored=1), 0)
    bench.add("q/a", *[LONG_MS] * 40)

    assert long == len(bench.plan(slots=SLOTS))


@pytest.mark.parametrize("slots", [2, 3])
def test_a_policy_may_keep_a_slot_of_a_small_pool(slots: int) -> None:
    """`min` counts however few slots there are."""
    bench = Bench()
    bench.order.apply(compile_policy(parse("fairness: {reserve: {min: 1}}"), stored=1), 0)
    bench.add("q/a", *[LONG_MS] * 9)

    assert slots - 1 == len(bench.plan(slots=slots))


def test_one_long_run_among_many_short_ones_makes_a_lane_long() -> None:
    """Its mean is far below the bound."""
    bench = bench_of()
    let_run(bench, "q/a", *[1] * 50, LONG_MS, *[1] * 20)
    bench.add("q/a", *[None] * 40)

    assert 18 == len(bench.plan(slots=SLOTS))


def test_a_long_run_is_forgotten_after_many_short_ones() -> None:
    """Five seconds fade below two within 184 runs, of a window of 200."""
    bench = bench_of()
    let_run(bench, "q/a", LONG_MS, *[SHORT_MS] * 190)
    bench.add("q/b", *[LONG_MS] * 40)
    bench.order.claimed([job.id for job in bench.plan(slots=SLOTS)], bench.now_us)
    bench.add("q/a", None)

    assert "a192" == names(bench, bench.plan(slots=SLOTS))


def test_no_hint_makes_a_job_short() -> None:
    """Neither one of a lane with a long run, nor the second of a lane without any."""
    bench = bench_of()
    let_run(bench, "q/long", LONG_MS)
    bench.add("q/long", *[1] * 40)
    assert 18 == len(bench.plan(slots=SLOTS))
    bench.add("q/new", *[1] * 9)

    assert "new1" == names(bench, bench.plan(slots=SLOTS))


def test_a_hint_makes_a_job_long() -> None:
    """Whatever its lane has shown; the jobs before it stay short."""
    bench = bench_of()
    let_run(bench, "q/a", *[SHORT_MS] * 20)
    bench.add("q/long", *[LONG_MS] * 40)
    assert 18 == len(bench.plan(slots=SLOTS))

    bench.add("q/a", SHORT_MS, LONG_MS, SHORT_MS)

    assert "a21" == names(bench, bench.plan(slots=SLOTS))


def test_lanes_of_which_nothing_is_known_leave_a_slot_to_those_that_are_short() -> None:
    """However many there are: each may be long."""
    bench = bench_of()
    let_run(bench, "q/known", SHORT_MS)
    for number in range(40):
        bench.add(f"q/new{number}x", None)
    first = bench.plan(slots=SLOTS)
    bench.add("q/known", None)

    assert 19 == len(first)
    assert "known2" == names(bench, bench.plan(slots=SLOTS))


def test_another_lane_is_tried_when_one_has_shown_to_be_short() -> None:
    """Beside long jobs on all other slots; the others wait for that."""
    bench = bench_of()
    bench.add("q/long", *[LONG_MS] * 40)
    bench.order.claimed([job.id for job in bench.plan(slots=SLOTS)], bench.now_us)
    for tenant in ("a", "b", "c"):
        bench.add(f"q/{tenant}", None, None)

    tried = bench.plan(slots=SLOTS)
    assert ("a1", ()) == (names(bench, tried), bench.plan(slots=SLOTS))
    bench.run(tried, SHORT_MS)
    assert "a2 b1" == names(bench, bench.plan(slots=SLOTS))


def test_where_a_tried_lane_is_long_no_other_is_tried() -> None:
    """One after the other they would have the whole reserve."""
    bench = bench_of()
    bench.add("q/long", *[LONG_MS] * 40)
    bench.order.claimed([job.id for job in bench.plan(slots=SLOTS)], bench.now_us)
    bench.add("q/a", None)
    bench.order.claimed([job.id for job in bench.plan(slots=SLOTS)], bench.now_us)
    bench.now_us += 3 * SECOND
    bench.add("q/b", None)

    assert () == bench.plan(slots=SLOTS)


@pytest.mark.timeout(10)
def test_a_lane_whose_long_job_came_back_unfinished_is_not_tried() -> None:
    """Its worker died: no run of it has ended, but it is known to be long."""
    bench = bench_of()
    bench.add("q/long", *[LONG_MS] * 40)
    bench.order.claimed([job.id for job in bench.plan(slots=SLOTS)], bench.now_us)
    bench.add("q/a", None)
    tried = [job.id for job in bench.plan(slots=SLOTS)]
    bench.order.claimed(tried, bench.now_us)
    bench.now_us += 3 * SECOND
    bench.plan(slots=SLOTS)
    bench.order.returned(tried, bench.now_us)
    bench.order.recalled(tried, bench.heads)

    assert () == bench.plan(slots=SLOTS)


def test_a_lane_that_was_idle_has_all_slots_once_as_many_of_its_jobs_have_ended() -> None:
    """A night's batch may be long where the jobs of the day were short."""
    bench = bench_of()
    let_run(bench, "q/a", *[SHORT_MS] * 50)
    bench.add("q/a", *[None] * 60)

    first = bench.plan(slots=SLOTS)
    bench.run(first, SHORT_MS)

    assert (18, 28) == (len(first), len(bench.plan(slots=SLOTS)))


def test_beside_long_jobs_a_lane_that_was_idle_begins_with_one() -> None:
    """Half of the reserve is left to others until that has ended."""
    bench = bench_of()
    let_run(bench, "q/a", *[SHORT_MS] * 50)
    bench.add("q/b", *[LONG_MS] * 40)
    bench.order.claimed([job.id for job in bench.plan(slots=SLOTS)], bench.now_us)
    bench.add("q/a", *[None] * 9)

    first = bench.plan(slots=SLOTS)
    bench.run(first, SHORT_MS)

    assert "a51" == names(bench, first)
    assert 8 == len(bench.plan(slots=SLOTS))


def test_batches_of_several_lanes_that_were_idle_begin_in_the_places_of_long_jobs() -> None:
    """Each lane was short before, and all of its jobs may be long now."""
    bench = bench_of()
    for lane in ("q/a", "q/b", "q/c", "q/quiet"):
        let_run(bench, lane, *[SHORT_MS] * 50)
    for lane in ("q/a", "q/b", "q/c"):
        bench.add(lane, *[None] * 20)
    first = bench.plan(slots=SLOTS)
    bench.add("q/quiet", None)

    assert 18 == len(first)
    assert "quiet51" == names(bench, bench.plan(slots=SLOTS))


def test_jobs_with_places_do_not_hold_up_those_behind_them_when_one_has_ended() -> None:
    """Beside the places that its first jobs have, a lane has as many as are free."""
    bench = bench_of()
    for lane in ("q/a", "q/b"):
        let_run(bench, lane, SHORT_MS)
        bench.add("q/long", LONG_MS)
    for lane in ("q/a", "q/b"):
        bench.add(lane, *[None] * 20)
    first = bench.plan(slots=SLOTS)
    bench.run([job for job in first if bench.names[job.id] in ("a2", "b2", "b3", "b4")], 1)

    again = bench.plan(slots=SLOTS)
    assert 4 == sum(bench.names[job.id].startswith("a") for job in again)


def test_no_more_lanes_wait_for_their_turns_than_there_are_places_for() -> None:
    """Those that were unblocked and have not had their turn yet are not joined by others."""
    bench = bench_of()
    for number in range(40):
        bench.add(f"q/new{number}x", None)
    bench.run(bench.plan(slots=SLOTS)[:5], 1)

    blocked = [
        (bench.plan(0, slots=SLOTS), bench.order.blocked_lanes()["reserve"])[1]
        for _ in range(3)
    ]
    assert blocked[0] == blocked[2] > 0


def test_long_jobs_of_a_lane_are_not_counted_as_short_ones_in_flight_too() -> None:
    """They have places; what is free beside these is for the lane's short jobs."""
    bench = bench_of()
    bench.add("q/a", *[LONG_MS] * 12)
    bench.order.claimed([job.id for job in bench.plan(slots=SLOTS)], bench.now_us)
    bench.add("q/a", SHORT_MS)
    bench.run(bench.plan(slots=SLOTS), SHORT_MS)
    bench.add("q/a", *[SHORT_MS] * 40)

    assert 6 == len(bench.plan(slots=SLOTS))


@pytest.mark.timeout(10)
def test_a_lane_is_unblocked_once_in_a_plan_where_keys_choose_another_job() -> None:
    """The next job is long and has a place; the short one behind it may not go yet."""
    bench = bench_of()
    key = {"key": "payload.x", "limit": 1}
    keyed = {"queues": [{"match": {"queue": "k"}, "concurrency": [key]}]}
    bench.order.apply(compile_policy(parse(json.dumps(keyed)), stored=1), 0)
    let_run(bench, "k/a", SHORT_MS, SHORT_MS)
    for fields in ({}, {"payload.x": "1"}):
        bench.run(bench.plan(slots=SLOTS), SHORT_MS)
        bench.add("k/a", SHORT_MS, fields=fields)
    bench.add("q/long", *[LONG_MS] * 17)
    for _ in range(3):
        bench.order.claimed([job.id for job in bench.plan(slots=SLOTS)], bench.now_us)
    bench.add("k/a", LONG_MS, fields={"payload.x": "1"})
    bench.add("k/a", SHORT_MS, fields={"payload.x": "2"}, rank=1)

    assert [(), (), ()] == [bench.plan(slots=SLOTS) for _ in range(3)]


def test_a_job_that_outlasts_the_bound_makes_its_lane_long_at_once() -> None:
    """All that it has in flight counts, and rows beyond the places are recalled."""
    bench = bench_of()
    let_run(bench, "q/a", *[1] * 30)
    bench.add("q/a", *[None] * 60)
    bench.run(bench.plan(slots=SLOTS), 1)
    jobs = bench.plan(10, slots=SLOTS) + bench.plan(15, slots=SLOTS)
    bench.order.claimed([job.id for job in jobs[:20]], bench.now_us)

    bench.now_us += 3 * SECOND
    waiting = bench.plan(slots=SLOTS)
    recalled = bench.order.surplus_rows()
    bench.order.recalled(recalled, bench.heads)

    assert () == waiting
    assert tuple(job.id for job in jobs[20:]) == recalled
    assert () == bench.plan(slots=SLOTS)


def test_what_is_over_is_counted_no_longer() -> None:
    """Recalled, refused or ended: its place is free."""
    bench = bench_of()
    bench.add("q/a", *[None] * 40)
    jobs = bench.plan(slots=SLOTS)
    assert 18 == len(jobs)

    bench.order.recalled([jobs[0].id], bench.heads)
    bench.order.refused([jobs[1].id], "default")

    assert "a1 a19" == names(bench, bench.plan(slots=SLOTS))


def test_lanes_that_wait_for_long_jobs_take_no_more_memory_while_they_run() -> None:
    """A lane whose jobs run is charged in each plan, for hours."""
    lane = Lane(Queue("q", QueueTerms(), FairSettings()), "a", Terms())
    branch = Branch(0, 0, 1.0, 1)
    account = branch.account_of("a", 1.0)
    account.add(lane)
    waiting = BlockedAccounts(branch)
    waiting.add(lane)

    for _ in range(1000):
        account.start += 1
        waiting.moved(account)

    assert waiting.entries < 100
    assert [lane] == waiting.next_lanes(1, 0, lambda _: True)


def test_of_an_account_with_many_queues_as_many_lanes_go_as_there_are_places() -> None:
    """They go by what they have had; the others stay blocked, or each plan would move all."""
    branch = Branch(0, 0, 1.0, 1)
    account, waiting = branch.account_of("a", 1.0), BlockedAccounts(branch)
    for had in (4, 2, 6, 1, 5, 3, 0):
        lane = Lane(Queue(f"q{had}", QueueTerms(), FairSettings()), "a", Terms())
        account.add(lane)
        lane.turn_tag = had
        if had != 1:
            lane.heads.ready.append(Head(1, 1, None, 0))
        waiting.add(lane)

    found = waiting.next_lanes(3, 0, lambda _: True)
    assert [0, 1, 2, 3] == [lane.turn_tag for lane in found]


def test_a_lane_that_waits_for_long_jobs_is_not_forgotten_when_its_account_is_served() -> None:
    """In another band, or for another lane of it: no charge says so here."""
    lane = Lane(Queue("q", QueueTerms(), FairSettings()), "a", Terms())
    branch = Branch(0, 0, 1.0, 1)
    account = branch.account_of("a", 1.0)
    account.add(lane)
    waiting = BlockedAccounts(branch)
    waiting.add(lane)

    branch.accounts.serve_elsewhere(account, 100_000)

    assert [lane] == waiting.next_lanes(1, 0, lambda _: True)


def test_rows_that_workers_pass_over_take_no_places() -> None:
    """They wait for room for their kinds. Two slots are gone since they were dispatched."""
    bench = bench_of()
    bench.add("q/a", *[None] * 40)
    rows = [job.id for job in bench.plan(slots=SLOTS)]
    bench.add("q/b", None)
    assert "" == names(bench, bench.plan(slots=SLOTS - 2))

    bench.pool.note_passed_over(rows, 0)

    assert "b1" in names(bench, bench.plan(slots=SLOTS - 2))


def test_a_row_that_workers_pass_over_is_no_trial() -> None:
    """Another lane is tried beside the long jobs."""
    bench = bench_of()
    bench.add("q/long", *[LONG_MS] * 40)
    bench.order.claimed([job.id for job in bench.plan(slots=SLOTS)], bench.now_us)
    bench.add("q/a", None)
    rows = [job.id for job in bench.plan(slots=SLOTS)]
    bench.add("q/b", None)
    assert "" == names(bench, bench.plan(slots=SLOTS))

    bench.pool.note_passed_over(rows, 0)

    assert "b1" == names(bench, bench.plan(slots=SLOTS))
