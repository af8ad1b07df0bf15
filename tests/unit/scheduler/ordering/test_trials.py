"""Who is tried in the reserve while long jobs have all places."""

from collections.abc import Sequence
from dataclasses import replace

from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.policy.settings import FairSettings, ShortSettings
from tests.support.fair_bench import Bench
from tests.support.planned import Planned

SECOND = 1_000_000
LONG_MS, SHORT_MS = 5000, 100
SLOTS = 20
"""Of which the default keeps 2, and half of these for lanes of which nothing is known."""


def beside_long_jobs() -> Bench:
    """Return a bench on which long jobs have run in all places for a second."""
    bench = Bench()
    settings = FairSettings(turn_us=0, short=ShortSettings())
    bench.order.apply(replace(CompiledPolicy(digest="kept"), settings=settings), 0)
    bench.add("q/long", *[LONG_MS] * 40)
    bench.order.claimed([job.id for job in bench.plan(slots=SLOTS)], bench.now_us)
    bench.now_us += SECOND
    return bench


def names(bench: Bench, jobs: Sequence[Planned]) -> list[str]:
    """Return the names of jobs in the order of their ids."""
    return [bench.names[job.id] for job in sorted(jobs)]


def test_a_lane_with_one_job_is_tried_before_the_second_that_has_many() -> None:
    """It would wait for a trial of each, and for its first turn, a long job later, as well."""
    bench = beside_long_jobs()
    for tenant in ("a", "b", "c"):
        bench.add(f"q/{tenant}", *[None] * 20)
    bench.add("q/quiet", None)

    tried = bench.plan(slots=SLOTS)
    assert ["a1"] == names(bench, tried)
    bench.run(tried, SHORT_MS)
    second = names(bench, bench.plan(slots=SLOTS))
    assert ("quiet1" in second, "b1" in second) == (True, False)


def test_lanes_with_one_job_have_no_more_than_every_other_trial() -> None:
    """However many there are, a newcomer with a backlog waits for one of them."""
    bench = beside_long_jobs()
    for tenant in ("a", "b", "c"):
        bench.add(f"q/{tenant}", *[None] * 20)
    for number in range(30):
        bench.add(f"q/name{number}x", None)

    first = set[str]()
    for _ in range(5):
        jobs = bench.plan(slots=SLOTS)
        first |= {name for name in names(bench, jobs) if name.endswith("1")}
        bench.run(jobs, SHORT_MS)
    assert {"a1", "b1", "c1"} <= first
    assert 2 == sum("x" in name for name in first)
