"""Run every controller on every workload, and evaluate the targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import mean

from bench.autoscaling.controllers import (
    Arc,
    Controller,
    Hpa,
    Keda,
    Kpa,
    Loop,
    ScaledJob,
    begun,
    oracle,
    static,
)
from bench.autoscaling.fairlead import Fairlead
from bench.autoscaling.fleet import Fleet
from bench.autoscaling.interval import Interval, interval
from bench.autoscaling.keda import LATE_MOST, Setting
from bench.autoscaling.run import Figures, run
from bench.autoscaling.workload import Curve, FleetConfig, draw

FAIRLEAD, KPA, KEDA = "fairlead", "kpa", "keda, its best"
STEADY_LOADS = ("step", "ramp", "diurnal")

Runs = Mapping[tuple[str, str], tuple[Figures, ...]]
"""By workload and controller, one per seed."""
Make = Callable[[Fleet], Controller]
Of = Callable[[Sequence[int]], float]


@dataclass(frozen=True, slots=True)
class Row:
    """A target and its measurement."""

    target: str
    what: str
    most: float
    measured: Interval
    by_upper_end: bool = False
    """Whether the upper end of the interval is compared with it instead of the figure."""

    @property
    def met(self) -> bool:
        """Whether the target was reached."""
        found = self.measured.high if self.by_upper_end else self.measured.figure
        return found <= self.most


def contenders(config: FleetConfig, setting: Setting) -> dict[str, Make]:
    """Return every controller by name.

    Args:
        config: The fleet.
        setting: KEDA's best for the workload.
    """
    most, slots = config.pods_max, config.slots
    made: dict[str, Make] = {
        FAIRLEAD: Fairlead,
        KPA: lambda _fleet: Kpa(most, slots),
        KEDA: lambda _fleet: setting.controller(config),
        "keda, as in Airflow's chart": lambda _fleet: Keda(
            Loop(most, float(slots)), in_system=True
        ),
        "hpa": lambda _fleet: Hpa(Loop(most, 0.7 * slots)),
        "arc": lambda _fleet: Arc(most, slots),
        "static": static,
        "oracle": oracle,
    }
    for strategy in ("default", "accurate", "eager"):
        made[f"scaledjob {strategy}"] = _scaled_job(config, strategy)
    return made


def _scaled_job(config: FleetConfig, strategy: str) -> Make:
    return lambda _fleet: ScaledJob(config.pods_max, config.slots, strategy)


def evaluate(
    config: FleetConfig,
    curves: Mapping[str, Curve],
    settings: Mapping[str, Setting],
    seeds: Iterable[int],
    only: Sequence[str] = (),
) -> Iterator[tuple[str, str, Figures]]:
    """Run the controllers seed by seed; each gets the same jobs.

    Args:
        config: The fleet.
        curves: The workloads.
        settings: KEDA's best for each.
        seeds: Seeds of the workloads.
        only: The controllers to run; empty: every one.
    """
    for seed in seeds:
        for name, curve in curves.items():
            drawn = draw(name, curve, config, seed)
            for contender, make in contenders(config, settings[name]).items():
                if not only or contender in only:
                    fleet = begun(config, drawn, seed)
                    yield name, contender, run(fleet, make(fleet))


def collected(played: Iterable[tuple[str, str, Figures]]) -> Runs:
    """Return the runs by workload and controller."""
    runs: dict[tuple[str, str], tuple[Figures, ...]] = {}
    for name, contender, figures in played:
        runs[name, contender] = (*runs.get((name, contender), ()), figures)
    return runs


def rows(runs: Runs, config: FleetConfig) -> list[Row]:
    """Return the targets that apply to the workloads of these runs."""
    names = list(dict.fromkeys(name for name, _ in runs))
    short = [name for name in names if name != "long"]
    plain = [name for name in short if name != "scheduled"]
    return [
        *_late(runs, short),
        *_cost(runs, plain),
        *_scheduled(runs, config),
        *_long(runs, names),
        *_calm(runs, names),
    ]


def fit_for_keda(runs: Runs, plain: Sequence[str]) -> list[str]:
    """Return the workloads on which KEDA's best setting has next to no late jobs."""
    return [
        name
        for name in plain
        if (name, KEDA) in runs and _mean(runs[name, KEDA], "late_share") <= LATE_MOST
    ]


def _late(runs: Runs, short: Sequence[str]) -> list[Row]:
    found = {name: interval(*_percent(runs[name, FAIRLEAD], "late_share")) for name in short}
    worst = max(found, key=lambda name: (found[name].high, name))
    what = f"late jobs, %, worst workload ({worst})"
    return [Row("T1", what, 100 * LATE_MOST, found[worst], by_upper_end=True)]


def _cost(runs: Runs, plain: Sequence[str]) -> list[Row]:
    places = _places(runs)
    ratio = {name: _ratio(runs, name, KPA, "pod_hours") for name in plain}
    worst = max(plain, key=lambda name: ratio[name](places))
    found = [
        Row("T2", "pod-hours against KPA, geometric mean", 0.87, _geo(places, ratio.values())),
        Row("T2", f"the same, worst ({worst})", 1.05, interval(places, ratio[worst])),
    ]
    fit = fit_for_keda(runs, plain)
    if fit:
        against = [_ratio(runs, name, KEDA, "pod_hours") for name in fit]
        what = f"against KEDA's best ({len(fit)} of {len(plain)} workloads)"
        found.append(Row("T2", what, 0.75, _geo(places, against)))
    return found


def _scheduled(runs: Runs, config: FleetConfig) -> list[Row]:
    if ("scheduled", FAIRLEAD) not in runs:
        return []
    due, places = runs["scheduled", FAIRLEAD], _places(runs)

    def wait(drawn: Sequence[int]) -> float:
        return mean(due[place].wait_p99 for place in drawn) / config.objective

    hours = _ratio(runs, "scheduled", KPA, "pod_hours")
    return [
        Row(
            "T3", "scheduled bursts: late jobs, %", 0.0, interval(*_percent(due, "late_share"))
        ),
        Row("T3", "their p99 wait, of the objective", 0.5, interval(places, wait)),
        Row("T3", "their pod-hours against KPA", 0.65, interval(places, hours)),
    ]


def _long(runs: Runs, names: Sequence[str]) -> list[Row]:
    stopped = float(sum(each.interrupted for name in names for each in runs[name, FAIRLEAD]))
    what = "jobs interrupted by scale-in, all workloads"
    found = [Row("T4", what, 0, Interval(stopped, stopped, stopped))]
    if "long" in names:
        hours = interval(_places(runs), _ratio(runs, "long", KPA, "pod_hours"))
        found.append(Row("T4", "long jobs: pod-hours against KPA", 1.1, hours))
    return found


def _calm(runs: Runs, names: Sequence[str]) -> list[Row]:
    found: list[Row] = []
    for what, said, most in (("under", "under", 2.0), ("over", "over", 40.0)):
        for name in (each for each in STEADY_LOADS if each in names):
            share = interval(*_percent(runs[name, FAIRLEAD], what))
            found.append(Row("T5", f"{said}-provisioned, {name}, %", most, share))
    if "bursty" in names:
        share = interval(*_percent(runs["bursty", FAIRLEAD], "under"))
        found.append(Row("T5", "under-provisioned, bursty, %", 6.0, share))
    for what, said in (("actions", "replicas"), ("flips", "direction")):
        found.append(
            Row("T5", f"changes of {said} against KPA", 0.4, _total(runs, names, what))
        )
    return found


def _total(runs: Runs, names: Sequence[str], what: str) -> Interval:
    def ratio(drawn: Sequence[int]) -> float:
        ours, kpas = (
            sum(_sum(runs[name, contender], what, drawn) for name in names)
            for contender in (FAIRLEAD, KPA)
        )
        return ours / max(1.0, kpas)

    return interval(_places(runs), ratio)


def _ratio(runs: Runs, name: str, other: str, what: str) -> Of:
    def ratio(drawn: Sequence[int]) -> float:
        return _sum(runs[name, FAIRLEAD], what, drawn) / _sum(runs[name, other], what, drawn)

    return ratio


def _geo(places: Sequence[int], ratios: Iterable[Of]) -> Interval:
    of = tuple(ratios)
    return interval(places, lambda drawn: exp(mean(log(each(drawn)) for each in of)))


def _percent(found: Sequence[Figures], what: str) -> tuple[range, Of]:
    return range(len(found)), lambda drawn: 100 * _sum(found, what, drawn) / len(drawn)


def _sum(found: Sequence[Figures], what: str, drawn: Sequence[int]) -> float:
    return sum(float(getattr(found[place], what)) for place in drawn)


def _mean(found: Sequence[Figures], what: str) -> float:
    return mean(float(getattr(each, what)) for each in found)


def _places(runs: Runs) -> range:
    return range(min(len(found) for found in runs.values()))
