"""Run every row: on PostgreSQL one after the other, then in simulated time on all processors.

What ran on PostgreSQL is compared with reference policies on the same trace. A row that breaks
does not lose the others; it is reported at the end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import psycopg

from bench.context import say
from bench.fairness.arguments import Arguments, row_name
from bench.fairness.contenders.registry import ALWAYS
from bench.fairness.postgres import replay
from bench.fairness.results.outcome import Observed, Outcome, measure
from bench.fairness.scenes.registry import scene
from bench.fairness.traffic.generate import generate
from bench.fairness.traffic.weights import Edit
from bench.fairness.traffic.workload import Workload, WorkloadRefusedError, load, recorded
from bench.processes import BrokenRunError
from bench.server import Server, running
from fairlead import policy_storage
from fairlead.policy import document
from fairlead_scheduler.simulation import trace
from fairlead_scheduler.simulation.trace import Arrival

_NOTHING = Observed()
_BROKEN = Observed(is_broken=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One workload with one seed."""

    name: str
    workload: Workload
    seed: int
    recorded: Path | None = None
    """The file with recorded jobs; None: they are generated."""

    def jobs(self) -> Sequence[Arrival]:
        """Return its trace."""
        if self.recorded is not None:
            return trace.read(self.recorded)
        return generate(self.workload, self.seed)

    @property
    def is_scene(self) -> bool:
        """Whether it runs on PostgreSQL only."""
        return self.workload.scene != "play"


@dataclass(slots=True)
class Found:
    """The runs of each workload, in the requested order, and the failures."""

    runs: dict[str, list[Outcome]] = field(default_factory=dict[str, list[Outcome]])
    failures: list[str] = field(default_factory=list[str])
    postgres: str = ""
    """PostgreSQL's version; empty if it was not used."""


def evaluate(given: Arguments) -> Found:
    """Run what is requested, one run after the other.

    Raises:
        WorkloadRefusedError: A parameter file is invalid, or needs PostgreSQL.
        TraceRefusedError: The file with recorded jobs is not a trace.
        PolicyRefused: The file with rules for them is not a policy.
    """
    found = Found()
    for number, seed in enumerate(given.seeds, 1):
        say(f"run {number} of {len(given.seeds)}, seed {seed}")
        plays = _plays(given, seed)
        there = {} if given.simulated else _on_postgresql(plays, found)
        simulated = [play for play in plays if not play.is_scene]
        there |= _compare(simulated, given.contenders, there)
        for play in plays:
            outcome = there[play.name]
            assert isinstance(outcome, Outcome)
            found.runs.setdefault(play.name, []).append(outcome)
    return found


def _plays(given: Arguments, seed: int) -> list[Play]:
    if given.trace is not None and given.slots is not None:
        jobs = trace.read(given.trace)
        workload = recorded(jobs, given.slots, _rules(given.rules))
        return [Play(name=given.trace.stem, workload=workload, seed=seed, recorded=given.trace)]
    loaded = [(row_name(path), load(path, given.form)) for path in given.workloads]
    plays = [
        Play(name=name, workload=each.model_copy(update={"cases": given.cases}), seed=seed)
        for name, each in loaded
    ]
    for play in plays:
        if play.is_scene and given.simulated:
            raise WorkloadRefusedError(f"{play.name} needs PostgreSQL: leave out --simulated")
    return plays


def _rules(path: Path | None) -> Mapping[str, object]:
    """Return the policy of a file; empty without a file."""
    if path is None:
        return {}
    text, _ = policy_storage.read(path)
    return cast("Mapping[str, object]", document.read(text).value)


Seen = dict[str, Observed | Outcome]
"""By name of the run: the outcomes of its jobs or, for a scene, its complete outcome."""


def _on_postgresql(plays: Sequence[Play], found: Found) -> Seen:
    """Run what can run on PostgreSQL, one after the other, on one server."""
    seen: Seen = {}
    with running() as server:
        found.postgres = server.version
        for play in plays:
            if play.workload.simulated_only:
                continue
            begun = time.monotonic()
            jobs = play.jobs()
            try:
                seen[play.name] = _really(play, jobs, server)
            except (BrokenRunError, psycopg.Error, ValueError) as error:
                found.failures.append(f"{play.name}: {error}")
                say(f"{play.name} broke: {error}")
                seen[play.name] = _empty(play, jobs) if play.is_scene else _BROKEN
            seconds = time.monotonic() - begun
            count = len(jobs) + play.workload.filled
            say(f"{play.name}: {count:,} jobs on PostgreSQL took {seconds:.0f} s")
    return seen


def _really(play: Play, jobs: Sequence[Arrival], server: Server) -> Observed | Outcome:
    workload = play.workload
    if play.is_scene:
        return scene(play.name, workload, jobs, play.seed, server)
    edits = (Edit(0, workload.weights, workload.policy), *workload.edited)
    return replay.play(
        server, jobs, slots=workload.slots, until_us=workload.until_us, edits=edits
    )


def _empty(play: Play, jobs: Sequence[Arrival]) -> Outcome:
    """Return the outcome of a scene that broke: nothing was measured."""
    return Outcome(
        name=play.name,
        workload=play.workload,
        seed=play.seed,
        jobs=len(jobs),
        measured={},
        evaluated={},
    )


def _compare(
    plays: Sequence[Play], contenders: Sequence[str], seen: Mapping[str, Observed | Outcome]
) -> dict[str, Outcome]:
    """Run everything in simulated time, the longest first."""
    if not plays:
        return {}
    begun = time.monotonic()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        waiting = {
            play.name: pool.submit(_measure, play, contenders, _observed(play, seen))
            for play in sorted(plays, key=_size, reverse=True)
        }
        outcomes = {name: future.result() for name, future in waiting.items()}
    say(f"{len(outcomes)} workloads in simulated time took {time.monotonic() - begun:.0f} s")
    return outcomes


def _size(play: Play) -> float:
    """Return roughly how much there is to simulate."""
    return play.workload.slots * play.workload.until_us * (1 + len(play.workload.extra))


def _observed(play: Play, seen: Mapping[str, Observed | Outcome]) -> Observed:
    observed = seen.get(play.name, _NOTHING)
    assert isinstance(observed, Observed)
    return observed


def _measure(play: Play, contenders: Sequence[str], observed: Observed) -> Outcome:
    chosen = contenders or (*ALWAYS, *play.workload.extra)
    jobs = play.jobs()
    return measure(play.name, play.workload, jobs, chosen, observed, seed=play.seed)
