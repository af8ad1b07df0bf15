"""The scenes with long backlogs: what is said of shares, looks, sizes and statements."""

from pathlib import Path

import pytest

from bench.fairness import exposition, pinned, reweigh, scale
from bench.fairness.exposition import Said
from bench.fairness.generate import generate
from bench.fairness.workload import FOLDER, WorkloadRefusedError, load
from fairlead_scheduler.simulation.fleet import Played
from fairlead_scheduler.simulation.trace import Arrival, Group

SECOND = 1_000_000
CHOSEN, OTHER = ("q", "chosen"), ("q", "other")
PLAY = """
title = "a flood"
slots = 2
seconds = 5
show = ["jain"]

[[tenants]]
name = "a"
group = "noisy"
arrivals = { form = "filled", jobs = 7 }
cost = { form = "uniform", lowest_seconds = 0.05, highest_seconds = 0.1 }
"""
PAGE = """
# TYPE fairlead_scheduler_dispatched counter
fairlead_scheduler_dispatched_total 70.0
# TYPE fairlead_scheduler_lag_seconds histogram
fairlead_scheduler_lag_seconds_bucket{le="0.01"} 50.0
fairlead_scheduler_lag_seconds_bucket{le="0.02"} 99.0
fairlead_scheduler_lag_seconds_bucket{le="+Inf"} 100.0
fairlead_scheduler_lag_seconds_count 100.0
fairlead_scheduler_lag_seconds_sum 1.0
"""
INFINITE = float("inf")


def job(tenant: str, claimed_us: int, cost_us: int = SECOND, group: Group = "noisy") -> Played:
    """Return a job that was there at the start."""
    arrival = Arrival(0, "q", tenant, cost_us, group)
    return Played(arrival, claimed_us, claimed_us + cost_us)


def test_what_the_server_fills_is_in_no_trace_and_counts() -> None:
    """Ten million jobs of the full form are never made as values."""
    quick = load(FOLDER / "W8B-reweigh-backlog.toml")
    full = load(FOLDER / "W8B-reweigh-backlog.toml", "full")

    assert ((), 1_020_000) == (generate(quick, 1), quick.filled)
    assert full.filled >= 10_000_000


def test_what_is_played_in_simulated_time_is_not_filled(tmp_path: Path) -> None:
    """The server would have the jobs, and the simulation none."""
    path = tmp_path / "flood.toml"
    path.write_text(PLAY)

    with pytest.raises(WorkloadRefusedError, match="filled is for scenes: use backlog"):
        load(path)


def test_the_effect_of_an_edit_is_the_part_of_the_way_in_its_fifth_second() -> None:
    """From half to nothing: a quarter is left in the fifth second."""
    before = [job(tenant, -s * SECOND) for tenant in ("chosen", "other") for s in (1, 2, 3, 4)]
    after = [job("other", second * SECOND, 3 * SECOND // 4) for second in range(5)]
    played = [*before, *after, job("chosen", 4 * SECOND, SECOND // 4)]

    found = reweigh.effect(played, CHOSEN, 0, 0.0)

    assert (0.5, 0.0, 0.25) == tuple(
        found[name] for name in ("share_before", "share_in_1st_second", "share_in_5th_second")
    )
    assert 0.5 == found["effect_in_5th_second"]


def test_a_pause_is_the_longest_time_without_a_claim() -> None:
    """Also from the edit to the first one after it, and from the last one on."""
    played = [job("other", claimed_us) for claimed_us in (-5, 30, 40, 60)]

    assert 30 == reweigh.pause_us(played, 0, 80)
    assert 40 == reweigh.pause_us(played, 0, 100)


def test_a_metrics_page_is_read() -> None:
    """Dispatched jobs, and looks by how long they took at most."""
    said = exposition.parsed(PAGE)

    assert (70, {0.01: 50, 0.02: 99, INFINITE: 100}) == (said.dispatched, said.looks)
    assert 0.02 == exposition.quantile_seconds(said.looks, 0.99)
    assert round(0.005, 9) == round(exposition.quantile_seconds(said.looks, 0.25), 9)
    assert 0.02 == exposition.quantile_seconds(said.looks, 1.0)


def test_only_what_came_in_between_counts() -> None:
    """Of several times together."""
    before = Said(dispatched=5, looks={0.01: 2, INFINITE: 2})
    after = Said(dispatched=9, looks={0.01: 3, INFINITE: 5})

    assert Said(dispatched=4, looks={0.01: 1, INFINITE: 3}) == after.since(before)
    assert Said(dispatched=14, looks={0.01: 5, INFINITE: 7}) == exposition.together(
        [before, after]
    )


def test_sizes_grow_tenfold_and_begin_with_few_tenants() -> None:
    """From ten thousand jobs on."""
    assert (
        scale.Size(10_000, 10),
        scale.Size(10_000, 10_000),
        scale.Size(100_000, 10_000),
        scale.Size(1_000_000, 10_000),
    ) == scale.sizes(1_000_000, 10_000)


def test_a_slope_is_of_all_turns_together() -> None:
    """What the leader does every few seconds falls into some of them only."""

    def turn(cpu_seconds: float, jobs: int) -> scale.Watched:
        said = Said(dispatched=jobs, looks={INFINITE: 1})
        return scale.Watched(seconds=1, cpu_seconds=cpu_seconds, said=said)

    small = [turn(0.01, 1000), turn(0.03, 1000)]
    large = [turn(0.03, 1000), turn(0.03, 2000)]

    assert 20 == scale.together(small).cpu_us
    assert 0 == scale.slope(small, large)


def test_a_snapshot_is_judged_at_the_end_of_its_time() -> None:
    """As long as the baseline: a third of the time, two minutes at most."""
    assert (18.0, 120.0) == (pinned.watched_seconds(60), pinned.watched_seconds(1930))


def test_a_quiet_job_that_still_waits_has_waited_until_the_end() -> None:
    """Of those that came in the time that is watched, whoever claimed them when."""
    waits = Arrival(2 * SECOND, "q", "quiet", SECOND, "quiet")
    served = Arrival(SECOND, "q", "quiet", SECOND, "quiet")
    played = [
        Played(waits, None, None),
        Played(served, 4 * SECOND, 5 * SECOND),
        Played(served._replace(at_us=0), SECOND, 2 * SECOND),
        Played(served._replace(group="noisy"), 9 * SECOND, None),
    ]

    assert [SECOND, 3 * SECOND] == pinned.quiet_us(played, SECOND, 3 * SECOND)


def test_the_slowest_statements_are_held_against_those_before() -> None:
    """Dispatch and claim."""
    before = {"dispatch_p99_ms": 4.0, "claim_p99_ms": 5.0}
    later = {"dispatch_p99_ms": 6.0, "claim_p99_ms": 5.0}

    assert {
        "dispatch_p99_over_baseline": 1.5,
        "claim_p99_over_baseline": 1.0,
    } == pinned.over_baseline(before, later)
