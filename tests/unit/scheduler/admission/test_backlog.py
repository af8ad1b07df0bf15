"""Which lanes are counted when, and which of them accept no more jobs."""

import pytest

from fairlead.policy import parse
from fairlead_scheduler.admission.backlog import (
    OFTEN_SECONDS,
    SELDOM_SECONDS,
    BacklogChanges,
    Backlogs,
    FullLane,
    Key,
    LaneToCount,
    reopens_at,
)
from fairlead_scheduler.policy.backlog_limits import (
    NO_LIMIT,
    BacklogLimits,
    compile_backlog_limits,
)

POLICY = """
labels: {initech: {tier: free}}
queues:
  - match: {queue: "mail-*"}
    backlog: {limit: 1000}
    tenants:
      default: {backlog: {limit: 100}}
      overrides:
        - {match: {tenant: acme}, backlog: null}
        - {match: {tenantLabel: tier=free}, backlog: {limit: 10}}
        - {match: {tenant: heavy}, weight: 2}
  - match: {queue: reports}
    backlog: {limit: 5}
  - match: {queue: "*"}
    weight: 2
"""
A: Key = ("mail-in", "a")


def caps(limit: int | None = 100) -> BacklogLimits:
    """Return limits for every tenant of every queue."""
    backlog = "null" if limit is None else f"{{limit: {limit}}}"
    return compile_backlog_limits(
        parse(
            f"queues: [{{match: {{queue: '*'}}, tenants: {{default: {{backlog: {backlog}}}}}}}]"
        )
    )


def full_with(jobs: int, *, limit: int = 100) -> Backlogs:
    """Return what is known after one count of a lane, which is published."""
    backlogs = Backlogs(caps(limit))
    backlogs.set_lanes([A])
    backlogs.record_count(A, jobs, 0.0)
    publish(backlogs)
    return backlogs


def publish(backlogs: Backlogs) -> BacklogChanges:
    """Publish what has changed, as rows from 1 on."""
    changes = backlogs.changes()
    for key, _ in changes.reopened:
        backlogs.record_published(key, None)
    for row, (key, _) in enumerate(changes.full, start=1):
        backlogs.record_published(key, row)
    return changes


@pytest.mark.parametrize(
    ("queue", "tenant", "limit"),
    [
        ("mail-in", None, 1000),
        ("mail-in", "anybody", 100),
        ("mail-in", "acme", NO_LIMIT),
        ("mail-in", "initech", 10),
        ("mail-in", "heavy", 100),
        ("reports", None, 5),
        ("reports", "acme", NO_LIMIT),
        ("other", None, NO_LIMIT),
        ("other", "acme", NO_LIMIT),
    ],
)
def test_a_lane_has_the_limit_of_its_first_match(
    queue: str, tenant: str | None, limit: int
) -> None:
    """What an override does not give comes from the default; null lifts it."""
    assert limit == compile_backlog_limits(parse(POLICY)).limit(queue, tenant)


def test_a_policy_without_a_limit_has_nothing_to_count() -> None:
    """Null is no limit, and lifting what is not there is none."""
    lifted = "queues: [{match: {queue: a}, backlog: null, tenants: {overrides: [%s]}}]"
    none = compile_backlog_limits(parse(lifted % "{match: {tenant: b}, backlog: null}"))

    assert (False, False) == (none.any, none.queue("a").of_tenants)
    assert not BacklogLimits().any
    assert compile_backlog_limits(
        parse(lifted % "{match: {tenant: b}, backlog: {limit: 1}}")
    ).any


def test_a_new_lane_is_counted_at_once_up_to_its_limit() -> None:
    """And a lane without a limit never."""
    backlogs = Backlogs(compile_backlog_limits(parse(POLICY)))
    backlogs.set_lanes([A, ("mail-in", None), ("mail-in", "acme"), ("other", "a")])

    assert [
        LaneToCount(A, 100, 100),
        LaneToCount(("mail-in", None), 1000, 100),
    ] == backlogs.due(0.0)


def test_a_lane_at_its_limit_is_full_and_reopens_at_nine_tenths() -> None:
    """One below its limit is not; a full one is counted up to where it reopens."""
    assert BacklogChanges([], []) == publish(full_with(99))

    backlogs = full_with(100)
    assert 1 == backlogs.full_count
    assert [LaneToCount(A, 91, 91)] == backlogs.due(OFTEN_SECONDS)
    backlogs.record_count(A, 91, 1.0)
    assert BacklogChanges([], []) == publish(backlogs)
    backlogs.record_count(A, 90, 2.0)
    assert BacklogChanges([], [(A, 1)]) == publish(backlogs)
    assert 0 == backlogs.full_count
    backlogs.record_count(A, 99, 3.0)
    assert BacklogChanges([], []) == publish(backlogs)


def test_the_smallest_limit_reopens_with_nothing_left() -> None:
    """A limit of one job is one, and what reopens it is below it."""
    assert [0, 0, 1, 9, 90] == [reopens_at(limit) for limit in (0, 1, 2, 10, 100)]


@pytest.mark.parametrize(
    ("jobs", "seconds"), [(0, SELDOM_SECONDS), (49, SELDOM_SECONDS), (50, OFTEN_SECONDS)]
)
def test_a_lane_that_is_half_full_is_counted_often(jobs: int, seconds: float) -> None:
    """The others less often, and none less often than every three seconds."""
    backlogs = Backlogs(caps())
    backlogs.set_lanes([A])
    backlogs.record_count(A, jobs, 10.0)

    assert [] == backlogs.due(10.0 + seconds - 0.01)
    assert [LaneToCount(A, 100, 100)] == backlogs.due(10.0 + seconds)
    assert 5.0 == backlogs.record_count(A, jobs, 15.0)


def test_a_lane_that_is_empty_is_forgotten_unless_it_is_published_as_full() -> None:
    """A full one is counted until it is published as reopened."""
    backlogs = full_with(100)
    backlogs.set_lanes([("mail-in", "b")])
    assert [A, ("mail-in", "b")] == sorted(want.key for want in backlogs.due(1.0))
    backlogs.record_count(A, 0, 1.0)
    backlogs.record_count(("mail-in", "b"), 0, 1.0)
    assert [(A, 1)] == publish(backlogs).reopened

    backlogs.set_lanes([])

    assert [] == backlogs.due(100.0)


def test_another_limit_counts_a_lane_anew() -> None:
    """A full lane whose limit is raised reopens below the new limit, after the next count."""
    backlogs = full_with(100)

    backlogs.set_limits(caps(101))

    assert BacklogChanges([], []) == backlogs.changes()
    assert [LaneToCount(A, 101, 101)] == backlogs.due(0.0)
    assert 0.0 == backlogs.record_count(A, 100, 1.0)
    assert [(A, 1)] == publish(backlogs).reopened

    backlogs.set_limits(caps(50))
    backlogs.record_count(A, 50, 2.0)
    assert [(A, 50)] == publish(backlogs).full


def test_a_lower_limit_of_a_full_lane_is_published() -> None:
    """The refusal names the limit that holds."""
    backlogs = full_with(100)
    backlogs.set_limits(caps(20))
    backlogs.record_count(A, 20, 1.0)

    assert BacklogChanges([(A, 20)], []) == publish(backlogs)
    assert BacklogChanges([], []) == publish(backlogs)


def test_a_lane_whose_limit_is_dropped_reopens_without_a_count() -> None:
    """Nothing is counted any more, and the row goes."""
    backlogs = full_with(100)

    backlogs.set_limits(caps(None))

    assert BacklogChanges([], [(A, 1)]) == publish(backlogs)
    assert [] == backlogs.due(100.0)
    assert BacklogChanges([], []) == publish(backlogs)


def test_a_new_leader_leaves_a_lane_full_until_it_reopens() -> None:
    """What is published stays: under the same limit it reopens where it would have."""
    backlogs = Backlogs(caps(), [FullLane(7, "mail-in", "a", 100)])

    assert BacklogChanges([], []) == backlogs.changes()
    assert [LaneToCount(A, 91, 91)] == backlogs.due(0.0)
    backlogs.record_count(A, 91, 0.0)
    assert BacklogChanges([], []) == publish(backlogs)
    backlogs.record_count(A, 90, 1.0)
    assert BacklogChanges([], [(A, 7)]) == publish(backlogs)


def test_a_new_leader_applies_the_limit_in_force_now() -> None:
    """The policy may have changed while no scheduler led."""
    raised = Backlogs(caps(200), [FullLane(7, "mail-in", "a", 100)])
    raised.record_count(A, 150, 0.0)
    assert BacklogChanges([], [(A, 7)]) == publish(raised)

    dropped = Backlogs(caps(None), [FullLane(7, "mail-in", "a", 100)])
    assert BacklogChanges([], [(A, 7)]) == publish(dropped)
