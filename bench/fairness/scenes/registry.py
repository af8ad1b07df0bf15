"""The scenes by name, and the result of one as an outcome like those of other workloads.

A new scene is a module with a `play` of the form `Scene`, a line in `_SCENES`, its name in
`Workload.scene`, and a parameter file in `workloads` with its targets, which become rows of the
table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.fairness.contenders.registry import FAIRLEAD, REAL
from bench.fairness.results.outcome import Outcome
from bench.fairness.scenes import (
    attacks,
    estimates,
    failover,
    floods,
    handler_attacks,
    limits,
    pinned,
    prediction,
    reweigh,
    scale,
    soak,
    storm,
)
from bench.fairness.scenes.scene import Scene
from bench.fairness.traffic.workload import Workload
from bench.server import Server
from fairlead_scheduler.simulation.trace import Arrival

_SCENES: Mapping[str, Scene] = {
    "failover": failover.play,
    "limits": limits.play,
    "storm": storm.play,
    "estimates": estimates.play,
    "prediction": prediction.play,
    "reweigh": reweigh.play,
    "scale": scale.play,
    "pinned": pinned.play,
    "attacks": attacks.play,
    "handlers": handler_attacks.play,
    "floods": floods.play,
    "soak": soak.play,
}


def scene(
    name: str, workload: Workload, trace: Sequence[Arrival], seed: int, server: Server
) -> Outcome:
    """Run a scene on a database of its own.

    Raises:
        BrokenRunError: A process ended unexpectedly, or nothing happened in time.
    """
    found = _SCENES[workload.scene](server, workload, trace, seed)
    simulated = {FAIRLEAD: found.simulated} if found.simulated else {}
    return Outcome(
        name=name,
        workload=workload,
        seed=seed,
        jobs=len(trace) + workload.filled,
        measured=found.rows,
        evaluated={REAL: found.evaluated, **simulated},
    )
