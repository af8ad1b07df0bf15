"""One simulation of the leader: a seed, a number of steps, and the first broken promise."""

from tests.simulation.promises import LOOK_US, Promises
from tests.simulation.replica import on_clock
from tests.simulation.scenario import FAULTS_US, scenario_of
from tests.simulation.verdict import Broken, Verdict
from tests.simulation.world import World
from tests.support.simulated_jobs import SECOND

STEPS = 1_000_000
"""More events than any history has."""
_SETTLED_US = FAULTS_US + 4 * SECOND
_OVER_US = _SETTLED_US + 40 * SECOND
"""The slowest of all is found by what is done every thirty seconds."""


def simulate(seed: int, steps: int = STEPS) -> Verdict:
    """Simulate what a seed stands for, up to so many events."""
    promises = Promises()
    world = World(scenario_of(seed), seed, promises)
    promises.begin(world)
    broken = ""
    with on_clock(world.clock):
        try:
            _play(world, promises, steps)
        except Broken as error:
            broken = f"{world.clock.now_us / SECOND:.3f} s: {error}"
    happened = world.clock.happened
    return Verdict("leader", seed, happened, broken, promises.checked, promises.longest_us)


def _play(world: World, promises: Promises, steps: int) -> None:
    """Play a history to its end: what goes wrong, some calm, and all that is left."""
    clock = world.clock
    released = False
    promises.look_on()
    for at_us in range(0, _OVER_US, LOOK_US):
        clock.run(at_us)
        if clock.happened >= steps:
            return
        if at_us >= _SETTLED_US and not released:
            released = True
            world.release()
        if released and not _due(world):
            return
    raise Broken(f"{len(_due(world))} jobs are left, {_due(world)[:5]} among them")


def _due(world: World) -> list[int]:
    """Return the jobs that are not over and wait for no instant, after a step of the clock."""
    now_us = world.database.now_us
    return [x.id for x in world.database.jobs.values() if (x.run_at_us or 0) <= now_us]
