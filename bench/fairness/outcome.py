"""What a run of one workload found, and how it compares with what is aimed at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.fairness.contenders import FAIRLEAD, IDEAL, REAL, Race, contender
from bench.fairness.figures import Figures, Ideal, compared, figures
from bench.fairness.ideal import fluid
from bench.fairness.simulation import play
from bench.fairness.workload import Target, Workload
from fairlead_scheduler.simulation.fleet import Played
from fairlead_scheduler.simulation.trace import Arrival

_LANES_MAX = 200
"""With more lanes the fluid takes longer than all policies together, and is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A target beside what was measured; None if its contenders took no part."""

    figure: str
    target: Target
    measured: float | None

    @property
    def missed(self) -> bool:
        """Whether a figure is not good enough."""
        return self.measured is not None and not self.target.met(self.measured)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One workload, played under each contender."""

    name: str
    workload: Workload
    jobs: int
    measured: Mapping[str, Figures]
    compared: Mapping[str, float]
    judged: str = FAIRLEAD
    """Whose figures are held against the targets."""

    @property
    def is_scene(self) -> bool:
        """Whether something was done to a fleet, and no policies were compared."""
        return self.workload.scene != "play"

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Return each target with Fairlead's figure."""
        own = {**self.measured.get(self.judged, {}), **self.compared}
        return tuple(
            Verdict(figure=name, target=target, measured=own.get(name))
            for name, target in self.workload.targets.items()
        )


def measure(
    name: str,
    workload: Workload,
    trace: Sequence[Arrival],
    contenders: Sequence[str],
    real: Sequence[Played] = (),
) -> Outcome:
    """Play a trace under each contender; what was played on PostgreSQL is judged instead."""
    race = Race(
        trace=trace,
        weights=workload.weights,
        slots=workload.slots,
        until_us=workload.until_us,
        edits=workload.edited,
        rules=workload.policy,
    )
    ideal = _ideal(race)
    judged = REAL if real else FAIRLEAD
    measured: dict[str, Figures] = {REAL: figures(real, race, ideal)} if real else {}
    for each in contenders:
        if each != IDEAL:
            measured[each] = figures(_played(each, race), race, ideal)
        elif ideal is not None:
            measured[each] = figures(ideal.played, race, ideal)
    found = {
        key: compared(one, measured, judged)
        for key, one in workload.compare.items()
        # What is about simulated contenders only says nothing of PostgreSQL.
        if one.of == FAIRLEAD or not real
    }
    return Outcome(
        name=name,
        workload=workload,
        jobs=len(trace),
        measured=measured,
        compared={key: value for key, value in found.items() if value is not None},
        judged=judged,
    )


def _played(name: str, race: Race) -> tuple[Played, ...]:
    given = contender(name, race.slots)
    return play(race.trace, given.policy(race), given.fleet, race.until_us, race.edits)


def _ideal(race: Race) -> Ideal | None:
    if race.edits or len({job.lane for job in race.trace}) > _LANES_MAX:
        return None
    return Ideal(
        fluid=fluid(race.trace, race.weights, race.slots, race.until_us),
        played=_played(IDEAL, race),
    )
