"""`bench.fairness.flood`: the README's picture, from simulated waits."""

from pathlib import Path

import pytest

from bench.fairness import flood
from bench.fairness.contenders.registry import Race, contender
from bench.fairness.contenders.simulation import simulate
from bench.fairness.traffic.generate import generate
from bench.fairness.traffic.workload import FOLDER, load
from fairlead_scheduler.simulation.engine import JobOutcome

WORKLOAD = load(FOLDER / "FLOOD.toml")
TRACE = generate(WORKLOAD, 1)


def played(name: str) -> tuple[JobOutcome, ...]:
    """Simulate the flood under a policy."""
    race = Race(trace=TRACE, weights={}, slots=WORKLOAD.slots, until_us=WORKLOAD.until_us)
    given = contender(name, WORKLOAD.slots)
    return simulate(TRACE, given.policy(race), given.fleet, WORKLOAD.until_us)


@pytest.mark.long
def test_the_picture_compares_the_quiet_tenants_waits_while_the_flood_waits(
    tmp_path: Path,
) -> None:
    """In a plain queue they wait for the flood; the same waits give the same file."""
    fair, fifo = played("fairlead"), played("fifo@product")
    whole = flood.flood_of(fifo)
    ours, plain = flood.quiet_waits(fair), flood.quiet_waits(fifo)
    for name in ("first.png", "second.png"):
        flood.draw(tmp_path / name, ours, plain, whole)

    assert (15, 10_000) == (whole.at_seconds, whole.jobs)
    assert max(flood.during(ours, whole)) < 0.5
    assert max(flood.during(plain, whole)) > 90
    assert (tmp_path / "first.png").read_bytes() == (tmp_path / "second.png").read_bytes()


def test_the_plain_queue_is_the_same_jobs_in_one_lane() -> None:
    """Their times, costs and groups stay."""
    merged = flood.in_one_lane(TRACE)

    assert 1 == len({job.lane for job in merged})
    assert [job[4] for job in TRACE] == [job[4] for job in merged]
    assert [(job.at_us, job.cost_us) for job in TRACE] == [
        (job.at_us, job.cost_us) for job in merged
    ]
