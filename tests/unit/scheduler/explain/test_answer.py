"""Why a job does not run: answers to snapshots, computed by hand."""

import json
from dataclasses import replace

import pytest

from fairlead_scheduler.explain.answer import (
    LaneSnapshot,
    Position,
    Question,
    answer,
    as_json,
    queued_answer,
)
from fairlead_scheduler.limits.limiter import Limiter
from fairlead_scheduler.policy.compiled import NO_LIMIT, CompiledPolicy
from fairlead_scheduler.policy.gcra import Rate

ALONE = Position(weight=1.0, weights=1.0, lag_us=0, in_flight=0, blocked_by=None, bounds=None)
SNAPSHOT = LaneSnapshot(
    now_us=1_000_000,
    slots=10,
    free=10,
    unclaimed=0,
    mean_us=1_000_000,
    expected_us=1_000_000,
    contention_us=1_000_000,
    lane=ALONE,
    queue=ALONE,
)


def asked(ahead: int = 0) -> Question:
    """Return a question about a job behind so many of its lane."""
    return Question(1, "q", "t", ahead)


@pytest.mark.parametrize(
    ("slots", "free", "passed_over", "blocked_by", "said"),
    [
        (0, 0, True, "capacity", "no worker of pool 'gpu' takes jobs: start one"),
        (4, 1, True, "full", "room for its kind"),
        (4, 0, False, "capacity", "no slot is free"),
        (4, 1, False, None, "about to claim it"),
    ],
)
def test_a_queued_job_waits_for_a_worker_for_room_or_for_a_slot(
    slots: int, free: int, blocked_by: str | None, said: str, *, passed_over: bool
) -> None:
    """And the answer says that it is for a queued one."""
    found = queued_answer("gpu", slots=slots, free=free, passed_over=passed_over)

    assert (blocked_by, "queued") == (found.blocked_by, found.state)
    assert said in json.loads(as_json(found, CompiledPolicy()))["sentence"]


def test_a_job_whose_turn_it_is_starts_now() -> None:
    """Slots are free and nothing lies before it."""
    found = answer(asked(), SNAPSHOT)

    assert ("turn", None, 0, 0.0) == (
        found.blocked_by,
        found.by,
        found.ahead,
        found.starts_in_seconds,
    )


def test_jobs_before_it_take_its_lanes_share_of_the_slots() -> None:
    """Twenty seconds of work at a quarter of half of ten slots."""
    lane = replace(ALONE, weights=4.0, in_flight=5)
    queue = replace(ALONE, weights=2.0)

    found = answer(asked(25), replace(SNAPSHOT, lane=lane, queue=queue))

    assert (20, 16.0) == (found.ahead, found.starts_in_seconds)


def test_what_its_lane_had_beyond_its_share_is_waited_for() -> None:
    """A lag counts slot-seconds over the weight; one that is behind owes nothing."""
    beyond = replace(SNAPSHOT, lane=replace(ALONE, weight=2.0, weights=2.0, lag_us=5_000_000))
    behind = replace(SNAPSHOT, lane=replace(ALONE, lag_us=-5_000_000))

    assert (10.0, 1.0) == (
        answer(asked(), beyond).lag_slot_seconds,
        answer(asked(), beyond).starts_in_seconds,
    )
    assert 0.0 == answer(asked(), behind).starts_in_seconds


def test_busy_slots_end_before_it_starts() -> None:
    """Three rows wait before it already, and ten slots end one a tenth of a second."""
    found = answer(asked(), replace(SNAPSHOT, free=0, unclaimed=3))

    assert ("capacity", 0.4) == (found.blocked_by, found.starts_in_seconds)


def test_a_limit_holds_its_lane_to_so_many_slots() -> None:
    """Two slots instead of ten."""
    lane = replace(ALONE, in_flight=2, blocked_by="limit", bounds=Limiter(2, (), []))

    found = answer(asked(10), replace(SNAPSHOT, lane=lane))

    assert ("limit", "tenant", 4.0) == (found.blocked_by, found.by, found.starts_in_seconds)


def test_a_rate_says_when_it_lets_go() -> None:
    """One a second, four before it, and the window is empty one second from now."""
    bounds = Limiter(NO_LIMIT, (Rate(1, 1_000_000, 1),), [2_000_000])
    queue = replace(ALONE, blocked_by="rate", bounds=bounds)

    found = answer(asked(4), replace(SNAPSHOT, queue=queue))

    assert ("rate", "queue", 5.0) == (found.blocked_by, found.by, found.starts_in_seconds)


def test_a_pause_has_no_end() -> None:
    """It is unknown when the pause ends."""
    found = answer(asked(), replace(SNAPSHOT, lane=replace(ALONE, blocked_by="paused")))

    assert ("paused", "tenant", None) == (found.blocked_by, found.by, found.starts_in_seconds)


@pytest.mark.parametrize(
    ("snapshot", "sentence"),
    [
        (SNAPSHOT, "others go first: it starts in a moment"),
        (replace(SNAPSHOT, slots=0, free=0), "no worker of pool 'default' is there: start one"),
        (replace(SNAPSHOT, free=0, unclaimed=3), "no slot is free: it starts in about 0.4 s"),
        (
            replace(SNAPSHOT, lane=replace(ALONE, blocked_by="rate", since_us=-500_000)),
            "the rate of its tenant is used up (for 1.5 s): it starts in a moment",
        ),
    ],
)
def test_an_answer_has_a_sentence_for_people(snapshot: LaneSnapshot, sentence: str) -> None:
    """And the policy by which it holds, if there is one."""
    said = json.loads(
        as_json(answer(asked(), snapshot), CompiledPolicy(digest="0123456789ab", stored=7))
    )

    assert sentence == said["sentence"]
    assert {"version": 7, "digest": "0123456789ab"} == said["policy"]


def test_a_lane_that_the_leader_does_not_know_is_said_to_be_new() -> None:
    """It has just been inserted, or its last job has just gone."""
    assert "not seen it yet" in json.loads(as_json(None, CompiledPolicy()))["sentence"]


def test_what_lies_between_two_runs_of_a_slot_is_waited_for() -> None:
    """Twenty seconds of work on ten slots that run jobs for four fifths of the time."""
    assert 2.5 == answer(asked(20), replace(SNAPSHOT, used=0.8)).starts_in_seconds


def test_a_place_under_a_limit_is_taken_for_longer_than_a_job_runs() -> None:
    """Two places, each of which a job of one second has for 1.25 seconds."""
    lane = replace(ALONE, in_flight=2, blocked_by="limit", bounds=Limiter(2, (), []))

    found = answer(asked(10), replace(SNAPSHOT, lane=lane, gap_us=250_000))

    assert 5.0 == found.starts_in_seconds


def test_who_has_more_than_its_share_in_flight_is_blocked_by_the_cap() -> None:
    """Its queue's cap before its own, and bands above before either."""
    snapshot = replace(SNAPSHOT, free=0, lane=replace(ALONE, capped_us=250_000))
    both = replace(snapshot, queue=replace(ALONE, capped_us=500_000))

    found = [answer(asked(), each) for each in (snapshot, both, replace(both, above=True))]

    assert [("cap", "tenant"), ("cap", "queue"), ("band", None)] == [
        (each.blocked_by, each.by) for each in found
    ]
    assert [0.75, 0.5] == [each.blocked_seconds for each in found[:2]]


def test_what_nothing_holds_is_blocked_since_the_last_of_its_reasons_began() -> None:
    """Its lane was unblocked at .2, its queue at .4, and no slot is free since .7 seconds."""
    snapshot = replace(
        SNAPSHOT,
        free=0,
        lane=replace(ALONE, since_us=200_000),
        queue=replace(ALONE, since_us=400_000),
    )

    found = answer(asked(), replace(snapshot, contention_us=700_000))

    assert ("capacity", 0.3) == (found.blocked_by, found.blocked_seconds)
    assert "1970-01-01T00:00:00.700000+00:00" == found.blocked_since


def test_an_answer_has_how_long_each_bound_blocked() -> None:
    """Of its tenant and of its queue, since each began to wait."""
    lane = replace(ALONE, waits_us=-1_000_000, blocked_seconds={"limit": 1.5})

    said = json.loads(as_json(answer(asked(), replace(SNAPSHOT, lane=lane)), CompiledPolicy()))[
        "waited"
    ]

    assert {"seconds": 2.0, "blocked_seconds": {"limit": 1.5}} == said["tenant"]
    assert {"seconds": 1.0, "blocked_seconds": {}} == said["queue"]


def test_what_bounds_leave_of_the_slots_is_shared_by_those_that_wait() -> None:
    """Twenty seconds of work on half of what others at their limits leave: (10 - 2) / 2."""
    lane = replace(ALONE, weights=2.0, bounded=2)

    assert 5.0 == answer(asked(20), replace(SNAPSHOT, lane=lane)).starts_in_seconds


def test_a_lane_whose_jobs_wait_for_room_for_their_kind_says_so() -> None:
    """Nobody knows when a job of that kind ends."""
    found = answer(asked(), replace(SNAPSHOT, lane=replace(ALONE, blocked_by="full")))

    assert ("full", "tenant", None) == (found.blocked_by, found.by, found.starts_in_seconds)
    assert "wait for a worker with room for their kind" in as_json(found, CompiledPolicy())
