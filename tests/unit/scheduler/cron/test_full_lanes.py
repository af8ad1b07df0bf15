"""A full lane is tried by one of its schedules, and the others keep their order behind it."""

from fairlead_scheduler.cron.full_lanes import RETRY_US, FullLanes

LANE, OTHER = ("acme", "mail"), ("acme", "reports")


def test_a_refused_lane_is_held_for_a_while_and_others_are_not() -> None:
    """From then on it may be tried again."""
    lanes = FullLanes()
    lanes.refused(LANE, 100)

    assert lanes.holds(LANE, 100 + RETRY_US - 1)
    assert not lanes.holds(OTHER, 100)
    assert not lanes.holds(LANE, 100 + RETRY_US)


def test_schedules_are_due_in_the_order_in_which_they_came() -> None:
    """The one that tries first is the one that has waited longest."""
    lanes = FullLanes()
    lanes.refused(LANE, 100)
    due = [lanes.next_us(LANE) for _ in range(3)]
    assert sorted(set(due)) == due

    lanes.refused(LANE, due[0])
    again = [lanes.next_us(LANE) for _ in range(3)]

    assert due[-1] < again[0]


def test_lanes_that_may_be_tried_are_forgotten() -> None:
    """Names without end take no memory, and a lane that is held stays."""
    lanes = FullLanes()
    lanes.refused(LANE, 100)
    lanes.refused(OTHER, 200)

    lanes.forget(100 + RETRY_US)

    assert lanes.holds(OTHER, 100 + RETRY_US)
    assert not lanes.holds(LANE, 100)
