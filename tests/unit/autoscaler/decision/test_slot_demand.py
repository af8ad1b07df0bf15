"""Each term asks for the slots that its rule says, and the largest decides."""

from dataclasses import replace

import pytest

from fairlead_autoscaler.decision.erlang import slots_needed
from fairlead_autoscaler.decision.inputs import Fires
from fairlead_autoscaler.decision.reasons import DemandTerm
from fairlead_autoscaler.decision.slot_demand import (
    DemandInputs,
    due_within,
    oldest_wait_seconds,
    pods_for,
    term_slots,
)
from tests.support.autoscaling import NOW, demand, pool, seconds

AT_REST = DemandInputs(
    now=NOW,
    arrival_rate=0.0,
    due_jobs=0.0,
    rising=False,
    start_seconds=10.0,
    ahead_seconds=10.0,
    serving_slots=10,
    held_slots=0,
    running=0,
    slots_max=1000,
)


@pytest.mark.parametrize(
    ("offered", "wait", "late", "expected"),
    [
        (0.0, 1.0, 0.01, 0),
        (0.5, 0.0, 0.10, 3),  # C(2, 0.5) = 0.1, C(3, 0.5) = 0.0152
        (2.0, 0.0, 0.45, 3),  # C(3, 2) = 0.4444
        (2.0, 0.0, 0.44, 4),  # C(4, 2) = 0.1739
        (10.0, 0.0, 0.2, 14),  # C(14, 10) = 0.1741, C(13, 10) = 0.2853
        (10.0, 1000.0, 0.01, 11),
        (50.0, 0.0, 0.01, 68),  # C(68, 50) = 0.0099, C(67, 50) = 0.0141
        (200.0, 1.0, 0.01, 99),
    ],
)
def test_slots_follow_erlangs_c(
    offered: float, wait: float, late: float, expected: int
) -> None:
    """The least slots with which the tail is short enough, or the most that may be."""
    found = slots_needed(
        offered, wait_seconds=wait, service_seconds=1.0, late_share=late, most=99
    )

    assert expected == found


def test_the_least_slots_are_more_than_the_load_and_grow_by_its_root() -> None:
    """Headroom is a share of the root: the larger a pool, the less of it stands idle."""
    headroom = [
        slots_needed(load, wait_seconds=0.0, service_seconds=1.0, late_share=0.01, most=100_000)
        - load
        for load in (100.0, 400.0, 10_000.0)
    ]

    assert [True] * 3 == [
        2.3 < each / root < 3.0 for each, root in zip(headroom, (10, 20, 100), strict=True)
    ]


def test_steady_asks_for_the_load_and_headroom() -> None:
    """Two jobs a second of eight seconds keep sixteen slots busy; some stand ready beside."""
    found = term_slots(demand(), replace(AT_REST, arrival_rate=2.0), pool())

    assert (DemandTerm.STEADY, 18.0) == (found.term, found.slots)


@pytest.mark.parametrize(
    ("work", "waited", "serving", "rate", "expected"),
    [
        (200.0, 0.0, 10, 0.0, 0.0),  # gone in 20 s of 21
        (220.0, 0.0, 10, 0.0, (220 - 10 * 10) / (30 - 0 - 10)),
        (220.0, 5.0, 10, 0.0, (220 - 10 * 10) / (30 - 5 - 10)),
        (220.0, 60.0, 10, 0.0, (220 - 10 * 10) / 10),  # late already: ten seconds for it
        (220.0, 0.0, 10, 2.5, 20 + (220 + 10 * 10) / (30 - 0 - 10)),
        (8.0, 0.0, 0, 0.0, 8 / 20),  # no pod serves: it is late at once
        (0.0, 0.0, 0, 0.0, 0.0),
    ],
)
def test_a_backlog_is_emptied_in_what_is_left_of_the_objective(
    work: float, waited: float, serving: int, rate: float, expected: float
) -> None:
    """Counted from when new pods have started, and from what the fleet does until then."""
    situation = replace(AT_REST, serving_slots=serving, arrival_rate=rate)

    assert (
        pytest.approx(expected)
        == term_slots(demand(work=work, waited=waited), situation, pool()).drain
    )


@pytest.mark.parametrize(
    ("work", "waited", "held", "expected"),
    [
        (16.0, 0.0, 4, 0.0),  # the other six empty it in 3 s
        (16.0, 0.0, 10, 10 + (16 + 0) / (30 - 0 - 10)),  # no other job does
        (16.0, 60.0, 10, 10 + 16 / 10),
        (220.0, 0.0, 4, 4 + (220 - 6 * 10) / (30 - 0 - 10)),
        (0.0, 0.0, 10, 0.0),  # nothing waits: they need no further slots
    ],
)
def test_slots_that_do_not_come_free_empty_no_backlog(
    work: float, waited: float, held: int, expected: float
) -> None:
    """What waits needs slots beside them, and they are not missing when these come."""
    situation = replace(AT_REST, held_slots=held)

    assert (
        pytest.approx(expected)
        == term_slots(demand(work=work, waited=waited), situation, pool()).drain
    )


@pytest.mark.parametrize(
    ("within", "expected"),
    [(0, 0), (2.5, 5), (5, 10), (15, 10), (20, 10), (40, 60), (60, 110), (200, 230)],
)
def test_work_that_falls_due_is_read_between_the_counts(within: float, expected: float) -> None:
    """The scheduler counts within 5, 20, 60 and 180 s; beyond these it is unknown."""
    assert expected == due_within(demand(due=(10, 10, 110, 230)), within)


def test_work_that_falls_due_has_its_pods_before_it_does() -> None:
    """Work due within a start delay and a tick is planned for as if it waited already."""
    found = term_slots(demand(due=(0, 420, 420, 420)), AT_REST, pool())

    assert (DemandTerm.SCHEDULED, 23.33) == (found.term, round(found.slots, 2))


def test_fires_have_their_pods_at_their_instant_and_not_between_two_counts() -> None:
    """A start delay and a tick before it: there is nothing to interpolate."""
    fires = (Fires((NOW + seconds(90)).timestamp(), 50, 400.0),)
    asked = [
        term_slots(
            replace(demand(useful=0), fires=fires),
            replace(AT_REST, ahead_seconds=ahead),
            pool(),
        ).scheduled
        for ahead in (84.0, 85.0)
    ]

    assert [0.0, 33.33] == [round(each, 2) for each in asked]


def test_a_fire_is_bounded_by_its_jobs() -> None:
    """Three jobs of ten minutes use three slots, whatever jobs of the pool take on average."""
    fires = (Fires(NOW.timestamp(), 3, 1800.0),)
    found = term_slots(replace(demand(useful=0), fires=fires), AT_REST, pool())

    assert (3.0, 150.0) == (found.slots, found.scheduled)


def test_what_fell_due_is_needed_once() -> None:
    """While it is there a slot is kept for each job; it is nothing that comes again."""
    situation = replace(AT_REST, running=60, due_jobs=50.0)
    found = term_slots(demand(useful=90), situation, pool())

    assert (60.0, 50.0, 10.0) == (found.slots, found.soon, found.lasting)


def test_what_falls_due_within_a_minute_keeps_what_is_there() -> None:
    """It is not added yet: a pod starts in ten seconds."""
    found = term_slots(demand(due=(0, 0, 480, 480), useful=0), AT_REST, pool())
    far = term_slots(demand(due=(0, 0, 0, 480), useful=0), AT_REST, pool())

    assert (0.0, 40.0, 0.0) == (found.scheduled, found.soon, far.soon)


def test_no_term_takes_a_slot_from_what_runs() -> None:
    """What runs, and what is kept warm above it, is the least."""
    found = term_slots(demand(useful=0), replace(AT_REST, running=7), pool(warmSlots=2))

    assert (DemandTerm.RUNNING, 9.0) == (found.term, found.slots)


def test_slots_that_the_policy_leaves_idle_are_not_asked_for() -> None:
    """A tenant with a limit of five slots is no reason for more, however much of it waits."""
    found = term_slots(demand(work=10_000, useful=5), AT_REST, pool())

    assert (5.0, True) == (found.slots, found.drain > 100)


def test_a_count_that_ended_at_the_most_is_no_bound() -> None:
    """The scheduler counts no further; more is wanted than there may be, and that is said."""
    found = term_slots(demand(work=1_000_000, useful=1000), AT_REST, pool())

    assert found.slots > 1000


def test_one_long_job_is_no_reason_for_more_than_one_slot() -> None:
    """It is an hour of work, and no other slot can help with it."""
    waits = term_slots(demand(work=3600, useful=1, mean=3600.0), AT_REST, pool())
    due = term_slots(demand(due=[3600] * 4, useful=0, mean=3600.0), AT_REST, pool())

    assert (1.0, 1.0) == (waits.slots, due.slots)
    assert min(waits.drain, due.scheduled) > 100


@pytest.mark.parametrize(
    ("rising", "useful", "allowed", "expected"),
    [
        (False, 0, 1000, 2.0),  # the headroom alone
        (False, 10, 1000, 12.0),
        (False, 100, 1000, 18.0),
        (False, 100, 5, 5.0),
        (True, 0, 1000, 18.0),
        (True, 0, 5, 5.0),
    ],
)
def test_headroom_comes_above_what_is_there_unless_the_rate_rises(
    rising: bool,  # noqa: FBT001 - a column of the table
    useful: int,
    allowed: int,
    expected: float,
) -> None:
    """Two jobs a second of eight seconds each; the policy's word bounds both."""
    row = replace(demand(useful=useful), slots_allowed=allowed)
    situation = replace(AT_REST, arrival_rate=2.0, rising=rising)

    assert expected == term_slots(row, situation, pool()).slots


def test_nothing_asks_for_more_slots_than_the_pool_may_have() -> None:
    """The search for slots ends where the pool does."""
    found = term_slots(demand(), replace(AT_REST, arrival_rate=1e9), pool())

    assert 1000.0 == found.slots


def test_a_job_from_the_future_has_not_waited() -> None:
    """A clock that is ahead makes no job late."""
    assert 0.0 == oldest_wait_seconds(demand(waited=-60), NOW)
    assert 60.0 == oldest_wait_seconds(demand(waited=60), NOW)
    assert 0.0 == oldest_wait_seconds(demand(), NOW + seconds(60))


@pytest.mark.parametrize(
    ("slots", "expected"), [(0, 0), (0.1, 1), (4, 1), (4.0000000001, 1), (4.1, 2), (400, 100)]
)
def test_pods_are_whole(slots: float, expected: int) -> None:
    """A fraction of a pod is a pod; what arithmetic adds to a whole one is not."""
    assert expected == pods_for(slots, 4)
