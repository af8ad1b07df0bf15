"""A lane stalls while a job of it may run and none begins; or a job of it is left behind."""

import random

from tests.chaos.applications import overtaken, stalls

FOUND = {"until_at": 100.0, "longer_than": 10.0}


def test_a_lane_in_which_nothing_begins_beside_a_job_that_may_stalls() -> None:
    """From when the job may run, or the last one began."""
    eligible = {1: ("a", 0.0), 2: ("a", 5.0), 3: ("b", 40.0)}

    assert {"a": 90.0, "b": 60.0} == stalls(eligible, {1: 10.0}, **FOUND)
    assert {"a": 35.0} == stalls(eligible, {1: 5.0, 2: 40.0, 3: 41.0}, **FOUND)


def test_a_lane_that_goes_on_does_not_stall() -> None:
    """However long one of its jobs waits, and whatever is not to run yet."""
    eligible = {1: ("a", 0.0), **{2 + n: ("a", 0.0) for n in range(11)}}
    starts = {1: 95.0, **{2 + n: 9.0 * n for n in range(11)}}

    assert {} == stalls(eligible, starts, **FOUND)
    assert {} == stalls({1: ("a", 95.0)}, {}, **FOUND)
    assert {} == stalls({1: ("a", 50.0), 2: ("a", 20.0)}, {1: 55.0, 2: 21.0}, **FOUND)


def test_a_job_is_left_behind_by_those_that_might_run_long_after_it() -> None:
    """Of its own lane, and whether it has begun or not."""
    eligible = {1: ("a", 0.0), 2: ("a", 15.0), 3: ("a", 30.0), 4: ("b", 50.0)}

    assert {1: 30.0} == overtaken(eligible, {2: 16.0, 3: 31.0, 4: 51.0}, **FOUND)
    assert {1: 15.0} == overtaken(eligible, {2: 16.0, 1: 29.0, 3: 31.0, 4: 51.0}, **FOUND)


def test_a_job_that_waits_with_its_lane_is_not_left_behind() -> None:
    """Nor by one that might run a little later, nor by one that might run before it."""
    eligible = {1: ("a", 0.0), 2: ("a", 5.0), 3: ("a", 90.0)}

    assert {} == overtaken(eligible, {1: 80.0, 2: 81.0, 3: 91.0}, **FOUND)
    assert {} == overtaken(eligible, {2: 6.0, 1: 80.0, 3: 91.0}, **FOUND)
    assert {} == overtaken(eligible, {}, **FOUND)


def test_a_job_whose_lock_ends_late_comes_before_those_that_were_inserted_after_it() -> None:
    """The order of a lane is that of its insertions."""
    eligible = {1: ("a", 40.0), 2: ("a", 0.0)}

    assert {} == overtaken(eligible, {1: 41.0, 2: 42.0}, **FOUND)
    assert {} == overtaken(eligible, {1: 41.0}, **FOUND)


def test_who_is_left_behind_is_what_looking_at_each_pair_finds() -> None:
    """Whatever began when."""
    chance = random.Random(1)
    for _ in range(50):
        jobs = range(1, 20)
        eligible = {job: (chance.choice("ab"), chance.uniform(0.0, 60.0)) for job in jobs}
        starts = {
            job: since + chance.uniform(0.0, 30.0)
            for job, (_, since) in eligible.items()
            if chance.random() < 0.9
        }
        found = {
            job
            for job, (lane, since) in eligible.items()
            for other, at in starts.items()
            if other > job
            and at < starts.get(job, FOUND["until_at"])
            and eligible[other][0] == lane
            and eligible[other][1] - since > FOUND["longer_than"]
        }

        assert found == {*overtaken(eligible, starts, **FOUND)}
