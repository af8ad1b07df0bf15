"""Fairlead's decision under slow starts, scarce nodes, late demands, and failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.autoscaling.controllers import Kpa, begun
from bench.autoscaling.evaluation import Row
from bench.autoscaling.fairlead import Fairlead, Faults
from bench.autoscaling.interval import Interval
from bench.autoscaling.run import Figures, run
from bench.autoscaling.workload import Curve, FleetConfig, draw

START_SECONDS = (5.0, 20.0, 60.0, 180.0)
WORKLOADS = ("step", "zero", "bursty")
OUTAGE = (600.0, 1200.0)


@dataclass(frozen=True, slots=True)
class FaultScenario:
    """The fleet, and the faults that it meets."""

    name: str
    config: FleetConfig
    faults: Faults


@dataclass(frozen=True, slots=True)
class Comparison:
    """The results in a scenario, and KPA's, which shares only its pods and nodes."""

    name: str
    ours: tuple[Figures, ...]
    kpas: tuple[Figures, ...]


def fault_scenarios(config: FleetConfig) -> list[FaultScenario]:
    """Return all scenarios; with slow starts the objective is as long as the start."""
    found = [
        FaultScenario(
            f"pods start in {start:g} s, objective {max(30.0, start):g} s",
            config.model_copy(
                update={"start_median": start, "objective": max(config.objective, start)}
            ),
            Faults(),
        )
        for start in START_SECONDS
    ]
    nodes = config.model_copy(update={"node_share": 0.2, "node_seconds": 90.0})
    return [
        *found,
        FaultScenario("one pod in five waits 90 s for a node", nodes, Faults()),
        FaultScenario("the demand is 10 s old", config, Faults(lag=10.0)),
        FaultScenario("one demand in three is lost", config, Faults(lost=1 / 3)),
        FaultScenario("the autoscaler is killed every 5 min", config, Faults(restarts=300.0)),
        FaultScenario("the scheduler's leader every 5 min", config, Faults(hand_offs=300.0)),
    ]


def compare(
    scenario: FaultScenario, curves: Mapping[str, Curve], seeds: Sequence[int]
) -> Comparison:
    """Return the results on each workload and seed, for Fairlead and KPA."""
    ours: list[Figures] = []
    kpas: list[Figures] = []
    config = scenario.config
    for name in WORKLOADS:
        for seed in seeds:
            drawn = draw(name, curves[name], config, seed)
            fleet = begun(config, drawn, seed)
            ours.append(run(fleet, Fairlead(fleet, faults=scenario.faults)))
            kpas.append(run(begun(config, drawn, seed), Kpa(config.pods_max, config.slots)))
    return Comparison(scenario.name, tuple(ours), tuple(kpas))


def outage(config: FleetConfig, curve: Curve, seed: int) -> list[Row]:
    """Return the effect of a ten-minute database outage on a pool during a ramp."""
    begin, end = OUTAGE
    fleet = begun(config, draw("ramp", curve, config, seed), seed)
    run(fleet, Fairlead(fleet, faults=Faults(outage=OUTAGE)))
    during = float(sum(begin <= at < end for at in fleet.outcome.writes))
    after = min((at - end for at in fleet.outcome.writes if at >= end), default=float("inf"))
    return [
        Row("T6", "writes while the database is away for 10 min", 0, _just(during)),
        Row("T6", "seconds from its return to the first write", 10, _just(after)),
    ]


def _just(figure: float) -> Interval:
    return Interval(figure, figure, figure)
