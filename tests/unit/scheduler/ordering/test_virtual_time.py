"""Virtual time: the mean service of those that compete."""

import pytest

from fairlead_scheduler.ordering.levels.service import lift
from tests.support.clock import LATE, MS, Bench


def test_it_advances_by_service_over_the_weight_of_those_that_compete() -> None:
    """A claim that was not served moves it by nothing."""
    bench = Bench(1.0, 3.0)

    bench.time.charge(bench.members[1], 3600 * 1000 * MS)
    bench.time.follow()
    assert bench.time.now == 0

    bench.serve(0, 40 * MS)
    assert bench.time.now == 10 * MS


def test_it_advances_while_a_job_runs() -> None:
    """By the time that passes, without an event of that job."""
    bench = Bench(1.0, 1.0)
    bench.time.serve(bench.members[0], 1, 0)

    bench.time.pass_to(20 * MS)
    bench.time.follow()

    assert bench.time.now == 10 * MS


def test_a_member_that_was_served_early_competes_until_the_others_had_as_much() -> None:
    """Otherwise the clock would run ahead of those that wait their first time."""
    bench = Bench(1.0, 1.0)
    first, second = bench.members
    bench.serve(0, 100 * MS)
    bench.time.leave(first)

    bench.serve(1, 50 * MS)
    assert (bench.time.now, first.service.competes) == (75 * MS, True)

    bench.serve(1, 50 * MS)
    assert (bench.time.now, first.service.competes) == (100 * MS, False)
    bench.serve(1, 10 * MS)
    assert (bench.time.now, second.start) == (110 * MS, 110 * MS)


def test_one_that_begins_to_wait_goes_first_and_pays_from_now_on() -> None:
    """To be early is no credit: after its turn it stands where it would without."""
    bench = Bench(1.0, 1.0)
    bench.serve(0, 100 * MS)
    newcomer = bench.add()

    bench.time.enter(newcomer, 0, has_several=True)
    assert newcomer.start == 0

    newcomer.start += bench.time.begin_turn(newcomer)
    assert newcomer.start == bench.time.now == 50 * MS


def test_one_that_is_ahead_stays_there() -> None:
    """It had its share already."""
    bench = Bench(1.0)
    ahead = bench.add(start=70 * MS)

    bench.time.enter(ahead, 0)

    assert (ahead.start, ahead.service.debt) == (70 * MS, 0)


@pytest.mark.parametrize(("lag_ms", "start_ms"), [(0, 40), (30, 10), (200, 0)])
def test_a_refund_goes_back_to_the_largest_lag_behind(lag_ms: int, start_ms: int) -> None:
    """What a member did not use because it claimed too much is not owed to it later."""
    bench = Bench(1.0, 1.0)
    claims = bench.members[0]
    claims.start += bench.time.begin_turn(claims)
    bench.time.charge(claims, 500 * MS)
    bench.serve(1, 80 * MS)

    bench.time.charge(claims, -500 * MS, claimed_us=500 * MS, behind_max=lag_ms * MS)

    assert (bench.time.now, claims.start) == (40 * MS, start_ms * MS)


def test_an_estimate_is_refunded_whole() -> None:
    """What evidence made too much is no claim; a lane of many jobs has such all the time."""
    bench = Bench(1.0, 1.0)
    behind = bench.members[0]
    behind.start += bench.time.begin_turn(behind)
    bench.time.charge(behind, 500 * MS)
    bench.serve(1, 80 * MS)

    bench.time.charge(behind, -499 * MS)

    assert behind.start == 1 * MS


def test_one_that_was_behind_at_its_turn_is_refunded_to_there() -> None:
    """It waited for a slot then, and not because of its claim."""
    bench = Bench(1.0, 1.0)
    bench.serve(1, 80 * MS)
    behind = bench.members[0]
    behind.start += bench.time.begin_turn(behind)
    bench.time.charge(behind, 500 * MS)

    bench.time.charge(behind, -499 * MS, claimed_us=499 * MS)

    assert behind.start == 1 * MS


def test_when_nothing_waits_it_is_lifted_to_what_was_had() -> None:
    """Capacity that no other member wanted counts against none."""
    bench = Bench(1.0)
    bench.serve(0, 900 * MS)
    late = bench.add()
    bench.time.leave(bench.members[0])
    bench.time.lift()

    bench.time.enter(late, LATE)

    assert late.start == bench.time.now == 900 * MS


def test_another_weight_keeps_what_was_charged_beyond_it_in_slot_time() -> None:
    """A debt that takes a light member minutes takes a heavy one as long as it should."""
    bench = Bench(1.0, 1.0)
    bench.serve(0, 100 * MS)
    heavy = bench.members[0]

    bench.time.reweigh(heavy, 5.0)

    assert bench.time.now == 50 * MS
    assert (heavy.start, heavy.service.attained) == (60 * MS, 60 * MS)


def test_one_that_is_lifted_does_not_move_it() -> None:
    """It has had nothing: it competes until V has reached what it was served for."""
    bench = Bench(1.0, 0.25)
    blocked = bench.members[0]
    bench.serve(0, 125 * MS)
    bench.time.leave(blocked)

    lift(blocked, 70 * MS)
    bench.time.follow()
    assert (bench.time.now, blocked.start) == (100 * MS, 195 * MS)

    bench.serve(1, 20 * MS)
    assert (bench.time.now, blocked.service.competes) == (116 * MS, True)
    bench.serve(1, 20 * MS)
    assert (bench.time.now, blocked.service.competes) == (160 * MS, False)


def test_one_that_was_lifted_keeps_its_place_and_competes_from_now_on() -> None:
    """Whoever was behind it goes first, but V counts nothing that it has not had."""
    bench = Bench(1.0, 1.0)
    blocked = bench.members[0]
    bench.serve(0, 100 * MS)
    bench.time.leave(blocked)
    lift(blocked, 70 * MS)
    bench.serve(1, 110 * MS)
    assert (bench.time.now, blocked.service.competes) == (110 * MS, False)

    bench.time.enter(blocked, LATE)
    bench.time.follow()

    assert (bench.time.now, blocked.start) == (110 * MS, 170 * MS)
    bench.serve(1, 10 * MS)
    assert bench.time.now == 115 * MS


@pytest.mark.parametrize("weight", [1, 4])
def test_one_that_was_lifted_and_has_another_weight_competes_for_as_long(weight: int) -> None:
    """What it was served beyond V stays the same in slot-time."""
    bench = Bench(1.0, 1.0)
    blocked = bench.members[0]
    bench.serve(0, 100 * MS)
    bench.time.leave(blocked)
    lift(blocked, 40 * MS)

    bench.time.reweigh(blocked, weight)

    assert blocked.start == 50 * MS + 90 * MS // weight
    bench.serve(1, 50 * MS // weight)
    assert blocked.service.competes
    bench.serve(1, 50 * MS)
    assert not blocked.service.competes
