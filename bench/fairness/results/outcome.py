"""The outcome of one workload, and its figures with targets."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from bench.fairness.contenders.ideal import fluid
from bench.fairness.contenders.registry import FAIRLEAD, IDEAL, REAL, Race, contender
from bench.fairness.contenders.simulation import simulate
from bench.fairness.results import metrics
from bench.fairness.results.figures import Figures, Ideal, compared, figures
from bench.fairness.traffic.workload import Workload
from fairlead_scheduler.simulation.engine import JobOutcome
from fairlead_scheduler.simulation.trace import Arrival

_LANES_MAX = 200
"""Above this number of lanes the fluid takes longer than all policies, and is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One workload, run once under each contender."""

    name: str
    workload: Workload
    seed: int
    jobs: int
    measured: Mapping[str, Figures]
    """The figures of each contender, or of each part of a scene."""
    evaluated: Mapping[str, Figures]
    """The figures with targets: of Fairlead simulated, and on PostgreSQL."""

    @property
    def is_scene(self) -> bool:
        """Whether the run acted on a fleet instead of comparing policies."""
        return self.workload.scene != "play"


class Observed(NamedTuple):
    """The outcomes of a trace on PostgreSQL, and the costs per dispatched job."""

    played: Sequence[JobOutcome] = ()
    costs: Figures | None = None
    is_broken: bool = False
    """Whether it could not run to its end."""


_NOTHING = Observed()


def measure(
    name: str,
    workload: Workload,
    trace: Sequence[Arrival],
    contenders: Sequence[str],
    observed: Observed = _NOTHING,
    *,
    seed: int = 1,
) -> Outcome:
    """Simulate a trace under each contender, and add what was observed on PostgreSQL.

    Where PostgreSQL's run broke no target is evaluated: simulated figures must not stand in for
    it.
    """
    race = Race(
        trace=trace,
        weights=workload.weights,
        slots=workload.slots,
        until_us=workload.until_us,
        edits=workload.edited,
        rules=workload.policy,
    )
    watched = _Watched(race, workload.warm_us)
    measured: dict[str, Figures] = {}
    if observed.played:
        measured[REAL] = {**watched.figures(observed.played), **(observed.costs or {})}
    for each in contenders:
        if each != IDEAL:
            measured[each] = watched.figures(_played(each, race))
        elif watched.ideal is not None:
            measured[each] = watched.figures(watched.ideal.played, again=True)
    return Outcome(
        name=name,
        workload=workload,
        seed=seed,
        jobs=len(trace),
        measured=measured,
        evaluated={}
        if observed.is_broken
        else {
            evaluated: {**measured[evaluated], **_compared(workload, measured, evaluated)}
            for evaluated in (FAIRLEAD, REAL)
            if evaluated in measured
        },
    )


def _compared(
    workload: Workload, measured: Mapping[str, Figures], evaluated: str
) -> dict[str, float]:
    found = {
        key: compared(one, measured, evaluated)
        for key, one in workload.compare.items()
        # What is about simulated contenders only says nothing of PostgreSQL.
        if FAIRLEAD in {one.of, evaluated}
    }
    return {key: value for key, value in found.items() if value is not None}


class _Watched:
    """A run after its warm-up, and its ideal."""

    def __init__(self, race: Race, warm_us: int) -> None:
        self._trace = race.trace
        self._warm_us = warm_us
        self._race = replace(
            race,
            until_us=race.until_us - warm_us,
            edits=tuple(each._replace(at_us=each.at_us - warm_us) for each in race.edits),
        )
        self.ideal = self._ideal(race)

    def figures(self, played: Sequence[JobOutcome], *, again: bool = False) -> Figures:
        """Return the figures of a run; `again` if it is already cut to the measured time."""
        cut = played if again else metrics.since(played, self._trace, self._warm_us)
        return figures(cut, self._race, self.ideal)

    def _ideal(self, race: Race) -> Ideal | None:
        if race.edits or len({job.lane for job in race.trace}) > _LANES_MAX:
            return None
        curves = fluid(race.trace, race.weights, race.slots, race.until_us)
        return Ideal(
            fluid={lane: metrics.curve_since(c, self._warm_us) for lane, c in curves.items()},
            played=tuple(metrics.since(_played(IDEAL, race), race.trace, self._warm_us)),
        )


def _played(name: str, race: Race) -> tuple[JobOutcome, ...]:
    given = contender(name, race.slots)
    return simulate(race.trace, given.policy(race), given.fleet, race.until_us, race.edits)


def middle(runs: Sequence[Outcome]) -> Outcome:
    """Return one outcome with the medians of several runs of one workload."""
    if len(runs) == 1:
        return runs[0]
    return replace(
        runs[0],
        measured=_medians([run.measured for run in runs]),
        evaluated=_medians([run.evaluated for run in runs]),
    )


def _medians(runs: Sequence[Mapping[str, Figures]]) -> dict[str, Figures]:
    """Return the median of each figure over the runs that have it."""
    return {
        name: {
            figure: statistics.median(
                run[name][figure] for run in runs if figure in run.get(name, {})
            )
            for figure in of_first
        }
        for name, of_first in runs[0].items()
    }
