"""Rounds over lanes go on where a statement stopped, and give each lane as many jobs."""

from fairlead_scheduler.pending.lane_round import LaneRound


def test_a_round_goes_on_behind_the_lane_that_a_statement_reached() -> None:
    """And gives later lanes as much as the first ones."""
    lanes = LaneRound(1000)
    first = lanes.turns

    lanes.record(900, ("q", "m"))

    assert ((("", ""), 1), (("q", "m"), 1)) == (first, lanes.turns)


def test_the_next_round_shares_a_batch_among_the_lanes_that_had_any_and_one_more() -> None:
    """Nine lanes get a hundred each, however many statements the round took."""
    lanes = LaneRound(1000)
    lanes.record(4, ("q", "m"))
    lanes.record(5, None)

    assert (("", ""), 100) == lanes.turns


def test_a_lane_has_its_turn_however_many_there_are() -> None:
    """One job each, if the lanes are more than a statement's jobs; all of them for none."""
    many, none = LaneRound(1000), LaneRound(1000)
    many.record(1000, ("q", "m"))
    many.record(1000, None)
    none.record(0, None)

    assert (1, 1000) == (many.turns.lane_jobs, none.turns.lane_jobs)


def test_each_round_counts_lanes_anew() -> None:
    """Those that are drained no longer take part."""
    lanes = LaneRound(1000)
    lanes.record(500, None)
    lanes.record(1, None)

    assert 500 == lanes.turns.lane_jobs
