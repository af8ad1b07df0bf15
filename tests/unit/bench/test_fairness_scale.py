"""The scenes with long backlogs: shares, ticks, sizes and statements."""

from bench.fairness.postgres import exposition
from bench.fairness.postgres.exposition import Counters
from bench.fairness.scenes import pinned, reweigh, scale
from fairlead_scheduler.simulation.engine import JobOutcome
from fairlead_scheduler.simulation.trace import Arrival, Group

SECOND = 1_000_000
CHOSEN, OTHER = ("q", "chosen"), ("q", "other")
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


def job(
    tenant: str, claimed_us: int, cost_us: int = SECOND, group: Group = "noisy"
) -> JobOutcome:
    """Return a job that was there at the start."""
    arrival = Arrival(0, "q", tenant, cost_us, group)
    return JobOutcome(arrival, claimed_us, claimed_us + cost_us)


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
    """Also from the edit to the first claim after it, and after the last one."""
    played = [job("other", claimed_us) for claimed_us in (-5, 30, 40, 60)]

    assert 30 == reweigh.pause_us(played, 0, 80)
    assert 40 == reweigh.pause_us(played, 0, 100)


def test_a_metrics_page_is_read() -> None:
    """Dispatched jobs, and ticks by upper bounds of their durations."""
    said = exposition.parsed(PAGE)

    assert (70, {0.01: 50, 0.02: 99, INFINITE: 100}) == (said.dispatched, said.ticks)
    assert 0.02 == exposition.quantile_seconds(said.ticks, 0.99)
    assert round(0.005, 9) == round(exposition.quantile_seconds(said.ticks, 0.25), 9)
    assert 0.02 == exposition.quantile_seconds(said.ticks, 1.0)


def test_only_what_came_in_between_counts() -> None:
    """The sum of several intervals."""
    before = Counters(dispatched=5, ticks={0.01: 2, INFINITE: 2})
    after = Counters(dispatched=9, ticks={0.01: 3, INFINITE: 5})

    assert Counters(dispatched=4, ticks={0.01: 1, INFINITE: 3}) == after.since(before)
    assert Counters(dispatched=14, ticks={0.01: 5, INFINITE: 7}) == exposition.together(
        [before, after]
    )


def test_a_slope_is_of_all_turns_together() -> None:
    """Periodic work of the leader falls into some of them only."""

    def turn(cpu_seconds: float, jobs: int) -> scale.Watched:
        said = Counters(dispatched=jobs, ticks={INFINITE: 1})
        return scale.Watched(seconds=1, cpu_seconds=cpu_seconds, said=said)

    small = [turn(0.01, 1000), turn(0.03, 1000)]
    large = [turn(0.03, 1000), turn(0.03, 2000)]

    assert 20 == scale.together(small).cpu_us
    assert 0 == scale.slope(small, large)


def test_a_snapshot_is_judged_at_the_end_of_its_time() -> None:
    """As long as the baseline: a third of the time, two minutes at most."""
    assert (18.0, 120.0) == (pinned.watched_seconds(60), pinned.watched_seconds(1930))


def test_a_quiet_job_that_still_waits_has_waited_until_the_end() -> None:
    """Of jobs that arrived in the measured time, whenever they were claimed."""
    waits = Arrival(2 * SECOND, "q", "quiet", SECOND, "quiet")
    served = Arrival(SECOND, "q", "quiet", SECOND, "quiet")
    played = [
        JobOutcome(waits, None, None),
        JobOutcome(served, 4 * SECOND, 5 * SECOND),
        JobOutcome(served._replace(at_us=0), SECOND, 2 * SECOND),
        JobOutcome(served._replace(group="noisy"), 9 * SECOND, None),
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
