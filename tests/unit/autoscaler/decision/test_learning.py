"""What a decision remembers: how fast work arrives, and how long pods take to start."""

from dataclasses import replace
from datetime import timedelta

import pytest

from fairlead_autoscaler.decision import arrival_rate, fleet, startup_delay
from fairlead_autoscaler.decision.arrival_rate import ArrivalRate
from fairlead_autoscaler.decision.inputs import Inputs, Pod, Worker
from fairlead_autoscaler.decision.stabilization import NeedPoint, highest, with_need
from fairlead_autoscaler.decision.startup_delay import StartupDelays
from tests.support.autoscaling import NOW, demand, look, seconds

FIRST = demand(NOW, total=1000)


def after(count: float, came: int) -> ArrivalRate:
    """Return the rates when so many jobs came in so many seconds after none for long."""
    first = arrival_rate.learned(None, FIRST, 0)
    return arrival_rate.learned(first, demand(NOW + seconds(count), total=1000 + came), 0)


def test_the_first_row_gives_the_rate_that_keeps_busy_what_runs() -> None:
    """A new leader finds sixteen jobs of eight seconds running: two a second arrive."""
    found = arrival_rate.learned(None, FIRST, 16)

    assert (2.0, 2.0) == (found.quick, found.slow)


def test_the_quick_average_follows_within_seconds_and_the_slow_one_within_minutes() -> None:
    """Ten a second for twenty seconds: two thirds and a tenth of the way."""
    found = after(20, came=200)

    assert (6.32, 1.05) == (round(found.quick, 2), round(found.slow, 2))


def test_the_same_row_twice_changes_nothing() -> None:
    """A second reading before the leader wrote again adds nothing."""
    once = after(5, came=50)

    assert once == arrival_rate.learned(once, demand(NOW + seconds(5), total=1050), 99)


@pytest.mark.parametrize(("epoch", "total"), [(2, 5000), (1, 900)])
def test_a_counter_that_begins_anew_is_no_arrival(epoch: int, total: int) -> None:
    """A new leader counts from elsewhere: the rates stay, and the next row adds to them."""
    former = after(20, came=200)
    row = replace(demand(NOW + seconds(25), total=total), epoch=epoch)

    found = arrival_rate.learned(former, row, 0)

    assert (former.quick, former.slow, row) == (found.quick, found.slow, found.row)


def test_what_was_known_to_fall_due_is_no_arrival() -> None:
    """Two hundred jobs that fell due at once do not mean that forty a second come."""
    first = arrival_rate.learned(None, demand(NOW, due=[1600.0] * 4), 0)
    found = arrival_rate.learned(first, demand(NOW + seconds(5), total=200), 0)
    more = arrival_rate.learned(first, demand(NOW + seconds(5), total=220), 0)

    assert (0.0, 0.0, False) == (found.quick, found.slow, found.rising)
    assert 40 * 0.0274 == pytest.approx(found.planned, rel=1e-2)
    assert (0.885, True) == (round(more.quick, 3), more.rising)


def test_a_flow_of_work_that_falls_due_is_a_load_like_any_other() -> None:
    """Two jobs a second, all of them delayed: they are expected at that rate."""
    known = arrival_rate.learned(None, demand(NOW, due=[80, 320, 960, 2880]), 0)
    for tick in range(1, 200):
        row = demand(NOW + tick * seconds(5), total=10 * tick, due=[80, 320, 960, 2880])
        known = arrival_rate.learned(known, row, 0)

    assert (0.0, False, 2.0) == (known.quick, known.rising, round(known.ahead(30), 1))


def test_what_fell_due_is_remembered_while_it_may_be_there() -> None:
    """No longer than anything is there, and for about a minute."""
    first = arrival_rate.learned(None, demand(NOW, due=[1600.0] * 4), 0)
    rows = [(5, 200), (20, 80), (80, 80)]
    seen: list[float] = []
    for at, useful in rows:
        first = arrival_rate.learned(
            first, demand(NOW + seconds(at), total=200, useful=useful), 0
        )
        seen.append(round(first.due_jobs, 1))

    assert [200.0, 80.0, 29.4] == seen


def test_what_fell_due_and_became_runnable_a_moment_later_is_no_arrival_either() -> None:
    """It is expected with the next row, and not for ever."""
    first = arrival_rate.learned(None, demand(NOW, due=[1600.0] * 4), 0)
    none = arrival_rate.learned(first, demand(NOW + seconds(5)), 0)
    late = arrival_rate.learned(none, demand(NOW + seconds(10), total=200), 0)
    waits = arrival_rate.learned(none, demand(NOW + seconds(10)), 0)
    other = arrival_rate.learned(waits, demand(NOW + seconds(15), total=200), 0)

    assert (200.0, 0.0, 0.0) == (none.owed, late.quick, waits.owed)
    assert other.quick > 8


@pytest.mark.parametrize(
    ("quick", "slow", "expected"),
    [
        (4.0, 4.0, 4.0),
        (3.0, 4.0, 4.0),
        (4.5, 4.0, 4.5),  # within two sigmas of 0.32
        (8.0, 4.0, 8.0 + 4.0 / 160 * 20),
    ],
)
def test_only_a_rise_that_is_no_accident_is_carried_on(
    quick: float, slow: float, expected: float
) -> None:
    """Arrivals at random rise by themselves; what rises more will have risen further."""
    found = ArrivalRate(quick=quick, slow=slow, row=FIRST)

    assert expected == found.ahead(20)


def begun(*delays: float, found: bool = False, ahead: float = 0) -> Inputs:
    """Return the inputs at pods made one second after now, with workers so long after that.

    Args:
        delays: Of each pod.
        found: Whether they were there before we looked.
        ahead: How far the API server's clock is.
    """
    created = NOW + seconds(1)
    names = [f"new-{place}" for place in range(len(delays))]
    return replace(
        look(0),
        pods=tuple(
            Pod(
                uid=uid,
                created_at=created + seconds(ahead),
                seen_at=None if found else created,
                ready=True,
                was_ready=True,
            )
            for uid in names
        ),
        workers=tuple(
            Worker(pod_uid=uid, slots_full=4, registered_at=created + seconds(delay))
            for uid, delay in zip(names, delays, strict=True)
        ),
    )


@pytest.mark.parametrize("ahead", [0.0, 60.0, -60.0])
def test_a_start_counts_from_our_raise_by_our_own_clock(ahead: float) -> None:
    """A job waited from then on; what the API server's clock shows does not count."""
    found = startup_delay.learned(
        StartupDelays(), fleet.of(begun(9.0, ahead=ahead)), (NOW - seconds(300), NOW)
    )

    assert (10.0,) == found.seconds


def test_a_start_that_was_not_requested_counts_from_when_the_pod_was_seen() -> None:
    """Another one was evicted, or a rollout made it."""
    found = startup_delay.learned(StartupDelays(), fleet.of(begun(9.0)), ())

    assert (9.0,) == found.seconds


def test_pods_that_a_new_controller_finds_count_until_a_start_was_measured() -> None:
    """Two clocks say how long they took: better than nothing, and no better than that."""
    seeded = startup_delay.learned(StartupDelays(), fleet.of(begun(9.0, 9.0, found=True)), ())
    skewed = startup_delay.learned(
        StartupDelays(), fleet.of(begun(9.0, found=True, ahead=60.0)), ()
    )
    both = replace(seeded, seconds=(2.0,))

    assert [9.0, 30.0, 2.0] == [
        each.delay_seconds(seconds(30)) for each in (seeded, skewed, both)
    ]


def test_a_pod_counts_once() -> None:
    """A container that starts again registers again."""
    once = startup_delay.learned(StartupDelays(), fleet.of(begun(9.0)), ())
    twice = startup_delay.learned(once, fleet.of(begun(99.0)), ())

    assert (9.0,) == twice.seconds


def waited(*delays: float) -> StartupDelays:
    """Return what is known once pods that waited for a node have started."""
    waiting = replace(begun(*delays), workers=())
    pods = tuple(replace(each, unschedulable=True) for each in waiting.pods)
    seen = startup_delay.learned(
        StartupDelays(seconds=(9.0,)), fleet.of(replace(waiting, pods=pods)), ()
    )
    return startup_delay.learned(seen, fleet.of(begun(*delays)), ())


def test_what_waited_for_a_node_says_how_far_ahead_pods_are_asked_for() -> None:
    """The delay by which a backlog is planned is of pods that found a node."""
    known, prior = waited(100.0, 120.0), seconds(30)

    assert (9.0, 120.0) == (
        known.delay_seconds(prior),
        known.ahead_seconds(prior, NOW + timedelta(days=7)),
    )


@pytest.mark.parametrize(("delay", "days"), [(601.0, 0), (120.0, 9)])
def test_a_node_that_nobody_made_or_that_came_long_ago_says_nothing(
    delay: float, days: int
) -> None:
    """A cluster that is full makes none, and it may have been given more since."""
    assert 9.0 == waited(delay).ahead_seconds(seconds(30), NOW + timedelta(days=days))


@pytest.mark.parametrize(
    ("measured", "expected"),
    [((), 30.0), ((5.0,), 5.0), (tuple(float(n) for n in range(1, 11)), 9.0)],
)
def test_the_delay_is_what_nine_of_ten_take_at_most(
    measured: tuple[float, ...], expected: float
) -> None:
    """The prior counts until one start was measured."""
    assert expected == StartupDelays(seconds=measured).delay_seconds(seconds(30))


def test_the_last_fifty_starts_count() -> None:
    """A faster image is believed within fifty pods."""
    slow = StartupDelays(seconds=(60.0,) * 50)
    found = startup_delay.learned(slow, fleet.of(begun(*[2.0] * 50)), ())

    assert (2.0,) * 50 == found.seconds


def test_the_most_within_the_window_counts() -> None:
    """A pool shrinks to what was needed of late, and later to what is needed."""
    window = timedelta(seconds=60)
    recent_needs: tuple[NeedPoint, ...] = ()
    seen: list[int] = []
    for tick, pods in enumerate((3, 9, 4, 7, 2, 2, 2, 2)):
        recent_needs = with_need(
            recent_needs, NeedPoint(NOW + tick * seconds(20), pods), window
        )
        seen.append(highest(recent_needs))

    assert [3, 9, 9, 9, 9, 7, 7, 2] == seen


def test_the_youngest_worker_says_how_many_slots_a_pod_has() -> None:
    """A rollout that changes it is followed; without a worker the policy's word counts."""
    inputs = look(2)
    old, new = inputs.workers
    changed = replace(new, slots_full=16, registered_at=NOW)
    found = fleet.of(replace(inputs, workers=(changed, old)))

    assert (16, 20) == (found.slots_per_pod(4), found.serving_slots(NOW))
    assert 7 == fleet.of(look(0)).slots_per_pod(7)


def test_a_container_that_started_again_counts_once() -> None:
    """Its former row stays until its lease is over, and says nothing more."""
    inputs = look(1)
    (former,) = inputs.workers
    again = replace(former, slots_full=8, registered_at=NOW)
    found = [
        fleet.of(replace(inputs, workers=rows)).serving_slots(NOW)
        for rows in ((former, again), (again, former))
    ]

    assert [8, 8] == found
