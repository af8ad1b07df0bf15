"""Attacks by handlers as a scene: the worst of them is compared with the targets."""

import pytest

from bench.fairness.scenes import handler_attacks
from bench.fairness.scenes.handler_attacks import ATTACKS
from bench.fairness.scenes.neighbours import Job
from tests.support import handler_attacks as simulation
from tests.support.adversaries import LIAR, QUIET, VICTIMS


def test_the_worst_handler_counts_by_each_target() -> None:
    """Where a process breaks, and nowhere else, a quiet tenant may wait until it is back."""
    without = {"share_without": 0.8, "quiet_p99_without_seconds": 0.1}
    charged = {"charged_over_held": 0.9, "quiet_charged_over_held": 1.1}
    found = handler_attacks.worst(
        {
            "completes early": {**without, **charged, "share": 0.9, "quiet_p99_seconds": 0.1},
            "completes early, limit of 4": {
                **without,
                "share": 0.9,
                "quiet_p99_seconds": 0.1,
                "held_over_limit": 1.25,
            },
            "empty jobs": {"share": 0.4, "quiet_p99_seconds": 0.2, **without},
            "blocks the loop": {"share": 0.8, "quiet_p99_seconds": 0.4, **without},
            "dies every 3 s": {"share": 0.8, "quiet_p99_seconds": 3.0, **without},
            "ignores its timeout": {"share": 0.8, "quiet_p99_seconds": 0.1, **without},
            "extends for ever": {"share": 0.8, "quiet_p99_seconds": 0.5, **without},
        }
    )

    assert {
        "share": 0.4,
        "charged_over_held": 0.9,
        "quiet_charged_over_held": 1.1,
        "held_over_limit": 1.25,
        "share_over_without": 0.5,
        "quiet_p99_over_without": 5.0,
        "quiet_p99_beside_breaks_seconds": 3.0,
    } == found


def test_a_single_attack_has_the_targets_that_are_its_own() -> None:
    """One that breaks no worker says nothing of those that do, and nothing was charged."""
    row = {"share": 0.4, "share_without": 0.8, "quiet_p99_seconds": 0.2}

    found = handler_attacks.worst({"empty jobs": {**row, "quiet_p99_without_seconds": 0.1}})

    assert {
        "share": 0.4,
        "share_over_without": 0.5,
        "quiet_p99_over_without": 2.0,
        "held_over_limit": 0.0,
    } == found


def test_every_attack_is_one_that_is_simulated() -> None:
    """And has what is compared with the targets there, but for what the quiet is charged."""
    assert list(simulation.ATTACKS) == list(ATTACKS)

    found = handler_attacks.worst(handler_attacks.simulated_figures(["completes early"]))

    assert {
        "share",
        "share_over_without",
        "charged_over_held",
        "quiet_p99_over_without",
        "held_over_limit",
    } == set(found)


def test_harmful_jobs_come_once_or_again_and_again() -> None:
    """Until the end of the run."""
    until_us = 10_000_000

    assert [0] == [*ATTACKS["empty jobs"].times_us(until_us)]
    assert [5e6] == [*ATTACKS["blocks the loop"].times_us(until_us)]
    assert [3e6, 6e6, 9e6] == [*ATTACKS["dies every 3 s"].times_us(until_us)]


def test_a_share_is_of_what_the_attacker_leaves() -> None:
    """One that uses one slot of twenty leaves more than a third: half of that is too little."""
    second = 1_000_000
    jobs = [Job(LIAR, 10 * second, 0, 0, 10 * second)]
    for lane in VICTIMS:
        jobs += [Job(lane, 10 * second, 0, 0, 10 * second)] * 7
        jobs += [Job(lane, 10 * second, 0, None, None)] * 7

    assert pytest.approx(7 / 9.5) == handler_attacks.share(jobs, 20, 10 * second)


def test_runs_are_read_from_the_handlers_notes() -> None:
    """One that its process did not survive counts for as long as it was entitled to."""
    text = "1-0 100.5\n1-1 101.0\n1-0 102.5\n2-0 103.0\n1-2 109.0\n1-2 111.5\n1-3 111\n"

    found = handler_attacks.held(text, 100_000_000, 10_000_000, killed_seconds=0)

    assert [
        Job(LIAR, 2_000_000, 500_000, 500_000, 2_500_000),
        Job(LIAR, 2_500_000, 9_000_000, 9_000_000, None),
    ] == found
    killed = handler_attacks.held(text, 100_000_000, 10_000_000, killed_seconds=1)
    assert (4, 2) == (len(killed), handler_attacks.most(killed))


def test_charges_are_compared_with_what_was_held() -> None:
    """As shares of the whole: here the attacker is charged for half of what it had."""
    jobs = [Job(lane, 1000, 0, 0, 1000) for lane in (LIAR, *VICTIMS, QUIET)]
    charged = {"liar": 0.125, "quiet": 0.375}

    found = handler_attacks.charges(jobs, charged, 2000)

    assert {"charged_over_held": 0.5, "quiet_charged_over_held": 1.5} == found
