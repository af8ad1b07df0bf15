"""A burst that schedules fire into a pool at zero, on the simulated fleet."""

import pytest

from bench.autoscaling.fairlead import Fairlead
from bench.autoscaling.fleet import Fleet
from bench.autoscaling.run import run
from bench.autoscaling.workload import FleetConfig, Job, Workload, load

CONFIG, _ = load()
JOBS = 120
EVERY = 1500


def waits(config: FleetConfig, seed: int, *, look_ahead: bool = True) -> list[list[float]]:
    """Return the waits of two bursts' jobs, of which the second one comes like the first."""
    jobs = tuple(
        Job(float(EVERY * burst), 8.0, scheduled=True, fired=True)
        for burst in (1, 2)
        for _ in range(JOBS)
    )
    seconds = int(config.seconds)
    workload = Workload(
        name="nightly", jobs=jobs, rates=(0.0,) * seconds, service=(8.0,) * seconds
    )
    fleet = Fleet(config, workload, seed, pods=0)
    run(fleet, Fairlead(fleet, look_ahead=look_ahead))
    assert 2 * JOBS == len(fleet.outcome.waits)
    return [fleet.outcome.waits[:JOBS], fleet.outcome.waits[JOBS:]]


@pytest.mark.parametrize("seed", range(5))
def test_a_burst_meets_its_objective_though_the_pool_was_at_zero(seed: int) -> None:
    """Pods start in 20 s; a job may wait for 30 s."""
    assert max(max(each) for each in waits(CONFIG, seed)) <= CONFIG.objective


@pytest.mark.parametrize("seed", range(5))
def test_where_nodes_are_made_first_the_next_burst_does(seed: int) -> None:
    """The first one shows how long that takes: half a minute to a minute and a half."""
    config = CONFIG.model_copy(update={"node_share": 1.0, "node_seconds": 60.0})
    blind, seen = waits(config, seed, look_ahead=False), waits(config, seed)

    assert max(seen[1]) <= CONFIG.objective < max(blind[1])
