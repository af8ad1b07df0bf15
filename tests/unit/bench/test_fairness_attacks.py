"""Attacks as a scene: the worst of them is compared with the targets."""

import math

from bench.fairness.results.report import value
from bench.fairness.scenes import attacks, handler_attacks
from bench.fairness.scenes.scene import Found
from bench.fairness.traffic.workload import FOLDER, load
from tests.support.adversaries import ATTACKS


def test_the_worst_attack_counts_by_each_target() -> None:
    """Waits beside long jobs have a target of their own, for no work without them compares."""
    found = attacks.worst(
        [
            {
                "share": 0.9,
                "share_without": 0.9,
                "quiet_p99_seconds": 0.3,
                "quiet_p99_without_seconds": 0.1,
            },
            {
                "share": 0.4,
                "share_without": 0.8,
                "quiet_p99_seconds": 0.2,
                "quiet_p99_without_seconds": 0.2,
            },
            {"quiet_p99_seconds": 0.4, "quiet_p99_without_seconds": 0.1},
            {"quiet_p99_seconds": 14.0},
            {"quiet_p99_seconds": 0.1},
        ]
    )

    assert {
        "share": 0.4,
        "share_over_without": 0.5,
        "quiet_p99_over_without": 4.0,
        "quiet_p99_beside_long_jobs_seconds": 14.0,
    } == found


def test_rows_that_are_named_are_compared_with_the_targets_that_they_have() -> None:
    """A row alone may have no share, or no wait beside long jobs."""
    found = attacks.worst([{"quiet_p99_seconds": 0.4, "quiet_p99_without_seconds": 0.1}])

    assert {"quiet_p99_over_without": 4.0} == found


def test_a_scene_is_simulated_as_it_is_played() -> None:
    """With and without the attack, and of a scene that has nobody backlogged no share."""
    found = attacks.simulated_figures(ATTACKS["another tenant's key"]())

    assert {"quiet_p99_seconds", "quiet_p99_without_seconds"} == set(found)


def test_figures_of_before_and_of_the_simulation_stand_beside_those_of_today() -> None:
    """By their names, and only where there are any."""
    found = Found(rows={"a": {"share": 0.9}, "b": {"share": 0.8}}, evaluated={})

    found = found.beside("before", {"a": {"share": 0.1}, "c": {"share": 0.2}})

    assert {"a": {"share": 0.9, "before_share": 0.1}, "b": {"share": 0.8}} == found.rows


def test_what_never_started_is_said() -> None:
    """In place of a wait."""
    assert "never" == value("quiet_p99_seconds", math.inf)


def test_every_attack_of_the_page_has_a_scene() -> None:
    """By its number in the page's list; what was found later has one of those, or none."""
    played = {
        "ATTACKS-inserts": {*ATTACKS, attacks.DUE},
        "HANDLERS": set(handler_attacks.ATTACKS),
    }
    numbers = {name: load(FOLDER / f"{name}.toml").numbers for name in played}

    assert {"ATTACKS-inserts": {"light newcomer"}, "HANDLERS": set()} == {
        name: played[name] - set(numbered) for name, numbered in numbers.items()
    }
    assert {str(number) for number in range(1, 18)} == {
        number for numbered in numbers.values() for number in numbered.values()
    }
