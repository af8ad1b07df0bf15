"""Our decision where things are slow or go wrong: starts, nodes, words, leaders, a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.autoscaling.controllers import Kpa, begun
from bench.autoscaling.evaluation import Row
from bench.autoscaling.fairlead import Fairlead, Faults
from bench.autoscaling.interval import Interval
from bench.autoscaling.run import Figures, run
from bench.autoscaling.workload import Curve, Scene, draw

START_SECONDS = (5.0, 20.0, 60.0, 180.0)
WORKLOADS = ("step", "zero", "bursty")
OUTAGE = (600.0, 1200.0)


@dataclass(frozen=True, slots=True)
class Hardship:
    """One of them: the fleet that it happens to, and what goes wrong."""

    name: str
    scene: Scene
    faults: Faults


@dataclass(frozen=True, slots=True)
class Endured:
    """What came of one, and of KPA, which only has the same pods and nodes."""

    name: str
    ours: tuple[Figures, ...]
    kpas: tuple[Figures, ...]


def hardships(scene: Scene) -> list[Hardship]:
    """Return all of them; who waits for a slow start has an objective of as long."""
    found = [
        Hardship(
            f"pods start in {start:g} s, objective {max(30.0, start):g} s",
            scene.model_copy(
                update={"start_median": start, "objective": max(scene.objective, start)}
            ),
            Faults(),
        )
        for start in START_SECONDS
    ]
    nodes = scene.model_copy(update={"node_share": 0.2, "node_seconds": 90.0})
    return [
        *found,
        Hardship("one pod in five waits 90 s for a node", nodes, Faults()),
        Hardship("the word is 10 s old", scene, Faults(lag=10.0)),
        Hardship("one word in three is lost", scene, Faults(lost=1 / 3)),
        Hardship("the autoscaler is killed every 5 min", scene, Faults(restarts=300.0)),
        Hardship("the scheduler's leader every 5 min", scene, Faults(hand_offs=300.0)),
    ]


def endured(hardship: Hardship, curves: Mapping[str, Curve], seeds: Sequence[int]) -> Endured:
    """Return what came of it on each workload and seed, with us and with KPA."""
    ours: list[Figures] = []
    kpas: list[Figures] = []
    scene = hardship.scene
    for name in WORKLOADS:
        for seed in seeds:
            drawn = draw(name, curves[name], scene, seed)
            fleet = begun(scene, drawn, seed)
            ours.append(run(fleet, Fairlead(fleet, faults=hardship.faults)))
            kpas.append(run(begun(scene, drawn, seed), Kpa(scene.pods_max, scene.slots)))
    return Endured(hardship.name, tuple(ours), tuple(kpas))


def outage(scene: Scene, curve: Curve, seed: int) -> list[Row]:
    """Return what a database that is away for ten minutes does to a pool on a ramp."""
    begin, end = OUTAGE
    fleet = begun(scene, draw("ramp", curve, scene, seed), seed)
    run(fleet, Fairlead(fleet, faults=Faults(outage=OUTAGE)))
    during = float(sum(begin <= at < end for at in fleet.outcome.writes))
    after = min((at - end for at in fleet.outcome.writes if at >= end), default=float("inf"))
    return [
        Row("T6", "writes while the database is away for 10 min", 0, _just(during)),
        Row("T6", "seconds from its return to the first write", 10, _just(after)),
    ]


def _just(figure: float) -> Interval:
    return Interval(figure, figure, figure)
