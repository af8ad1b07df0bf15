"""KEDA's best setting for each workload, searched on separate seeds.

The best is the cheapest one with next to no late jobs on the tuning seeds; where none has so
few, the one with the fewest. Every setting runs the first seeds, the best of them the rest.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean

from pydantic import BaseModel, ConfigDict

from bench.autoscaling.controllers import Keda, Loop, begun
from bench.autoscaling.run import run
from bench.autoscaling.workload import Curve, FleetConfig, draw

TUNED = Path(__file__).with_name("keda.toml")
SEEDS = range(1, 6)
"""Parameters of KEDA and of Fairlead are chosen on seeds 1 to 10, here on these."""
FIRST = 1
"""Number of seeds that every setting runs."""
BEST = 3
"""Number of settings that run the rest."""
LATE_MOST = 0.001


class Setting(BaseModel):
    """A ScaledObject's trigger and its HorizontalPodAutoscaler's behaviour."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    in_system: bool
    target: float
    window: float

    @property
    def name(self) -> str:
        """The setting as a table shows it."""
        signal = "in-system" if self.in_system else "pending"
        return f"{signal} {self.target:g}, {self.window:g} s"

    def controller(self, config: FleetConfig) -> Keda:
        """Return a controller with this setting, polled every 5 s."""
        loop = Loop(config.pods_max, self.target, self.window)
        return Keda(loop, self.in_system, poll=5.0)


SETTINGS = tuple(
    Setting(in_system=in_system, target=target, window=window)
    for in_system, targets in ((True, (2.8, 3.4, 4.0, 5.0, 6.5, 8.0)), (False, (1.0,)))
    for target in targets
    for window in (30.0, 120.0, 300.0)
)


def tuned() -> dict[str, Setting]:
    """Return the stored setting for each workload."""
    given = tomllib.loads(TUNED.read_text("utf-8"))
    return {name: Setting.model_validate(part) for name, part in given.items()}


def search(
    config: FleetConfig, curves: Mapping[str, Curve], say: Callable[[str], None]
) -> dict[str, Setting]:
    """Search the best setting of each workload."""
    found: dict[str, Setting] = {}
    for name, curve in curves.items():
        first = {each: _play(config, name, curve, each, SEEDS[:FIRST]) for each in SETTINGS}
        best = sorted(first, key=lambda each: _cost(first[each]))[:BEST]
        rest = {each: _play(config, name, curve, each, SEEDS[FIRST:]) for each in best}
        found[name] = min(best, key=lambda each: _cost([*first[each], *rest[each]]))
        say(f"{name}: {found[name].name}")
    return found


def write(found: Mapping[str, Setting]) -> None:
    """Write the settings found."""
    lines = [
        "# The cheapest setting of KEDA with at most 0.1 % late jobs on seeds 1 to 5, as",
        "# `python -m bench.autoscaling --tune` found it; where none has so few, the one with",
        "# the fewest.",
    ]
    for name, each in found.items():
        lines += ["", f"[{name}]", f"in_system = {str(each.in_system).lower()}"]
        lines += [f"target = {each.target}", f"window = {each.window}"]
    TUNED.write_text("\n".join(lines) + "\n", "utf-8")


def _play(
    config: FleetConfig, name: str, curve: Curve, setting: Setting, seeds: Sequence[int]
) -> list[tuple[float, float]]:
    """Return the share of late jobs and the pod-hours of each seed."""
    found: list[tuple[float, float]] = []
    for seed in seeds:
        fleet = begun(config, draw(name, curve, config, seed), seed)
        figures = run(fleet, setting.controller(config))
        found.append((figures.late_share, figures.pod_hours))
    return found


def _cost(played: Sequence[tuple[float, float]]) -> tuple[float, float]:
    late = mean(each for each, _ in played)
    return (late if late > LATE_MOST else 0.0, mean(hours for _, hours in played))
