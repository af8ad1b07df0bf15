"""Every controller on every workload, and what its targets make of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from random import Random
from statistics import mean

from bench.autoscaling.controllers import (
    Controller,
    Keda,
    Kpa,
    oracle,
    pods_needed,
    static,
)
from bench.autoscaling.fairlead import Fairlead
from bench.autoscaling.fleet import Fleet
from bench.autoscaling.run import Figures, run
from bench.autoscaling.workload import Curve, Scene, Workload, draw

FAIRLEAD, KPA = "fairlead", "kpa"
LATE_MOST = 0.001
_KEDA = [
    (in_system, per_pod, window)
    for in_system, per_pods in ((True, (2.0, 2.8, 4.0)), (False, (8.0,)))
    for per_pod in per_pods
    for window in (120.0, 300.0)
]
_DRAWS = 2000

Runs = Mapping[tuple[str, str], tuple[Figures, ...]]
"""By workload and controller, one for each seed."""
Make = Callable[[Fleet], Controller]


@dataclass(frozen=True, slots=True)
class Row:
    """A target, what was aimed at, and what was measured."""

    target: str
    what: str
    aim: str
    measured: str
    met: bool


def contenders(scene: Scene) -> dict[str, Make]:
    """Return every controller by name, KEDA with each of its settings, polled every 5 s."""
    made: dict[str, Make] = {
        FAIRLEAD: Fairlead,
        KPA: lambda _fleet: Kpa(scene.pods_max, scene.slots),
        "static": static,
        "oracle": oracle,
    }
    for in_system, per_pod, window in _KEDA:
        signal = "in-system" if in_system else "pending"
        name = f"keda {signal} {per_pod:g} {window:g}s"
        made[name] = _keda(scene, per_pod=per_pod, in_system=in_system, window=window)
    return made


def _keda(scene: Scene, *, per_pod: float, in_system: bool, window: float) -> Make:
    return lambda _fleet: Keda(
        scene.pods_max, per_pod, in_system, stabilization=window, poll=5.0
    )


def evaluate(
    scene: Scene, curves: Mapping[str, Curve], seeds: Sequence[int], say: Callable[[str], None]
) -> Runs:
    """Run all of them; each plays the same jobs."""
    runs: dict[tuple[str, str], tuple[Figures, ...]] = {}
    for name, curve in curves.items():
        drawn = [draw(name, curve, scene, seed) for seed in seeds]
        for contender, make in contenders(scene).items():
            fleets = [begun(scene, each, seed) for each, seed in zip(drawn, seeds, strict=True)]
            runs[name, contender] = tuple(run(fleet, make(fleet)) for fleet in fleets)
        say(f"{name}: played")
    return runs


def begun(scene: Scene, workload: Workload, seed: int) -> Fleet:
    """Return a fleet that has from the beginning what the first rate needs."""
    fleet = Fleet(scene, workload, seed, pods=0)
    fleet.begin(pods_needed(fleet, (workload.rates[0], workload.service[0])))
    return fleet


def outage(scene: Scene, curve: Curve, seed: int) -> Row:
    """Return what a database that is away for ten minutes does to a pool on a ramp."""
    begin, end = 600.0, 1200.0
    fleet = begun(scene, draw("ramp", curve, scene, seed), seed)
    run(fleet, Fairlead(fleet, outage=(begin, end)))
    during = sum(begin <= at < end for at in fleet.outcome.writes)
    after = min((at - end for at in fleet.outcome.writes if at >= end), default=float("inf"))
    return Row(
        "T6",
        "writes while the database is away for 10 min; first one after it",
        "0; within 10 s",
        f"{during}; {after:.0f} s",
        during == 0 and after <= 10,
    )


def rows(runs: Runs, scene: Scene) -> list[Row]:
    """Return the targets."""
    names = list(dict.fromkeys(name for name, _ in runs))
    short = [name for name in names if name != "long"]
    plain = [name for name in short if name != "scheduled"]
    return [
        *_late(runs, short),
        *_cost(runs, plain),
        *_special(runs, scene),
        *_calm(runs, names),
    ]


def cheapest_keda(runs: Runs, name: str) -> float | None:
    """Return the pod-hours of the cheapest setting with next to no late jobs, if any."""
    fit = [
        _mean(found, "pod_hours")
        for (of, contender), found in runs.items()
        if of == name and "keda" in contender and _mean(found, "late_share") <= LATE_MOST
    ]
    return min(fit, default=None)


def _late(runs: Runs, short: list[str]) -> list[Row]:
    upper = {name: _upper([each.late_share for each in runs[name, FAIRLEAD]]) for name in short}
    worst = max(upper, key=upper.__getitem__)
    return [
        Row(
            "T1",
            "late jobs, worst workload, upper end of the 95 % interval",
            "<= 0.1 %",
            f"{100 * upper[worst]:.2f} % ({worst})",
            upper[worst] <= LATE_MOST,
        )
    ]


def _cost(runs: Runs, plain: list[str]) -> list[Row]:
    ours = {name: _mean(runs[name, FAIRLEAD], "pod_hours") for name in plain}
    kpa = {name: ours[name] / _mean(runs[name, KPA], "pod_hours") for name in plain}
    keda = {
        name: ours[name] / hours
        for name in plain
        if (hours := cheapest_keda(runs, name)) is not None
    }
    worst = max(kpa, key=kpa.__getitem__)
    among = f"{len(keda)} of {len(plain)} workloads"
    return [
        _most("T2", "pod-hours against KPA, geometric mean", 0.87, _geometric(kpa.values())),
        _most("T2", f"the same, worst ({worst})", 1.05, kpa[worst]),
        _most("T2", f"against the cheapest KEDA ({among})", 0.75, _geometric(keda.values())),
    ]


def _special(runs: Runs, scene: Scene) -> list[Row]:
    due, kpa = runs["scheduled", FAIRLEAD], runs["scheduled", KPA]
    long, long_kpa = runs["long", FAIRLEAD], runs["long", KPA]
    stopped = sum(
        each.interrupted
        for (_, contender), found in runs.items()
        if contender == FAIRLEAD
        for each in found
    )
    wait = _mean(due, "wait_p99") / scene.objective
    return [
        _most("T3", "scheduled bursts: late jobs, %", 0.0, 100 * _mean(due, "late_share")),
        _most("T3", "their p99 wait, of the objective", 0.5, wait),
        _most("T3", "their pod-hours against KPA", 0.65, _ratio(due, kpa, "pod_hours")),
        _most("T4", "jobs interrupted by scale-in, all workloads", 0, stopped),
        _most(
            "T4", "long jobs: pod-hours against KPA", 1.1, _ratio(long, long_kpa, "pod_hours")
        ),
    ]


def _calm(runs: Runs, names: list[str]) -> list[Row]:
    under = {name: 100 * _mean(runs[name, FAIRLEAD], "under") for name in names}
    steady = [name for name in ("step", "ramp", "diurnal") if name in names]
    calm = {name: value for name, value in under.items() if name in steady}
    over = max(100 * _mean(runs[name, FAIRLEAD], "over") for name in steady)
    totals = {
        (what, contender): sum(_mean(runs[name, contender], what) for name in names)
        for what in ("actions", "flips")
        for contender in (FAIRLEAD, KPA)
    }
    actions, flips = (
        totals[what, FAIRLEAD] / max(1.0, totals[what, KPA]) for what in ("actions", "flips")
    )
    return [
        _most("T5", "under-provisioned, steady loads, worst, %", 2.0, max(calm.values())),
        _most("T5", "under-provisioned, bursty, %", 6.0, under.get("bursty", 0.0)),
        _most("T5", "over-provisioned, steady loads, worst, %", 40.0, over),
        _most("T5", "changes of replicas against KPA", 0.4, actions),
        _most("T5", "changes of direction against KPA", 0.4, flips),
    ]


def _most(target: str, what: str, aim: float, measured: float) -> Row:
    return Row(target, what, f"<= {aim:g}", f"{measured:.2f}", measured <= aim)


def _mean(found: Sequence[Figures], what: str) -> float:
    return mean(float(getattr(each, what)) for each in found)


def _ratio(ours: Sequence[Figures], others: Sequence[Figures], what: str) -> float:
    return _mean(ours, what) / _mean(others, what)


def _geometric(values: Iterable[float]) -> float:
    logarithms = [log(each) for each in values]
    return exp(mean(logarithms)) if logarithms else float("inf")


def _upper(values: Sequence[float]) -> float:
    """Return the upper end of the mean's 95 % interval, by drawing from the seeds anew."""
    dice = Random("interval")
    means = sorted(mean(dice.choices(values, k=len(values))) for _ in range(_DRAWS))
    return means[int(0.975 * _DRAWS)]
