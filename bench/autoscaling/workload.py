"""Generate arriving jobs from a seed and the parameter file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from math import log, sqrt
from pathlib import Path
from random import Random
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

PARAMETERS = Path(__file__).with_name("workloads.toml")
Point = tuple[float, float]


class Curve(BaseModel):
    """The arrivals of one workload."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rate: Annotated[tuple[Point, ...], Field(min_length=2)] | None = None
    period: float | None = None
    levels: tuple[float, ...] = ()
    stretch: float = 60.0
    bursts: int = 0
    bursts_every: float = 600.0
    scheduled: int = 0
    scheduled_every: float = 900.0
    long_share: float = 0.0
    long_seconds: float = 0.0
    drift_at: float | None = None
    drift_factor: float = 1.0


class FleetConfig(BaseModel):
    """The fleet, and every workload by name."""

    model_config = ConfigDict(frozen=True, extra="allow")

    seconds: float
    slots: int
    service_mean: float
    start_median: float
    start_sigma: float
    objective: float
    pods_max: int
    grace: float
    node_share: float = 0.0
    """Share of pods that wait for a node, and for how long on average."""
    node_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Job:
    """A job with its due time and its run time."""

    due: float
    seconds: float
    scheduled: bool
    fired: bool = False
    """Whether a schedule inserts it when it is due; else one that is scheduled was delayed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A generated workload: its jobs, sorted by due time."""

    name: str
    jobs: tuple[Job, ...]
    rates: tuple[float, ...]
    """The intended rate, second by second, which an oracle knows."""
    service: tuple[float, ...]
    """The mean service time, second by second."""


def load() -> tuple[FleetConfig, dict[str, Curve]]:
    """Read the parameter file."""
    given = tomllib.loads(PARAMETERS.read_text("utf-8"))
    curves = {
        name: Curve.model_validate(part)
        for name, part in given.items()
        if isinstance(part, dict)
    }
    return FleetConfig.model_validate(
        {k: v for k, v in given.items() if k not in curves}
    ), curves


def draw(name: str, curve: Curve, config: FleetConfig, seed: int) -> Workload:
    """Generate a workload; the same seed gives the same one."""
    dice = Random(f"{name} {seed}")
    seconds = int(config.seconds)
    rates = _rates(curve, seconds, dice)
    usual = (1 - curve.long_share) * config.service_mean
    mean = usual + curve.long_share * curve.long_seconds
    service = tuple(
        mean
        * (curve.drift_factor if curve.drift_at is not None and at >= curve.drift_at else 1)
        for at in range(seconds)
    )
    dues = [(at, False) for at in _arrivals(rates, dice)]
    for size, every, known in (
        (curve.bursts, curve.bursts_every, False),
        (curve.scheduled, curve.scheduled_every, True),
    ):
        for burst in range(1, int(seconds / every) if size else 0):
            dues += [(burst * every, known)] * size
    jobs = tuple(
        Job(due, _service(curve, config, due, dice), known) for due, known in sorted(dues)
    )
    return Workload(name=name, jobs=jobs, rates=rates, service=service)


def lognormal(dice: Random, mean: float) -> float:
    """Draw a time with this mean and a coefficient of variation of 1."""
    sigma = sqrt(log(2.0))
    return dice.lognormvariate(log(mean) - sigma**2 / 2, sigma)


def _rates(curve: Curve, seconds: int, dice: Random) -> tuple[float, ...]:
    if curve.rate is None:
        drawn = [dice.choice(curve.levels) for _ in range(int(seconds / curve.stretch) + 1)]
        return tuple(drawn[int(at / curve.stretch)] for at in range(seconds))
    return tuple(_at(curve.rate, at % (curve.period or seconds + 1)) for at in range(seconds))


def _at(points: tuple[Point, ...], at: float) -> float:
    former = points[0]
    for point in points[1:]:
        if at < point[0]:
            share = (at - former[0]) / (point[0] - former[0])
            return former[1] + share * (point[1] - former[1])
        former = point
    return points[-1][1]


def _arrivals(rates: tuple[float, ...], dice: Random) -> list[float]:
    """Draw Poisson arrivals at the highest rate, and keep each with its second's share."""
    most, at, kept = max(rates), 0.0, list[float]()
    while most > 0 and (at := at + dice.expovariate(most)) < len(rates):
        if dice.random() * most < rates[int(at)]:
            kept.append(at)
    return kept


def _service(curve: Curve, config: FleetConfig, due: float, dice: Random) -> float:
    if dice.random() < curve.long_share:
        return curve.long_seconds
    drifted = curve.drift_at is not None and due >= curve.drift_at
    return lognormal(dice, config.service_mean * (curve.drift_factor if drifted else 1.0))
