"""Play every row: on PostgreSQL one after the other, then in simulated time on all processors.

What was played on PostgreSQL is compared with reference policies on the very same trace. One
row that breaks does not lose the others: it is told at the end.
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
from bench.fairness import real
from bench.fairness.arguments import Arguments, row_name
from bench.fairness.contenders import ALWAYS
from bench.fairness.generate import generate
from bench.fairness.outcome import Observed, Outcome, measure
from bench.fairness.scenes import scene
from bench.fairness.weights import Edit
from bench.fairness.workload import Workload, WorkloadRefusedError, load, recorded
from bench.processes import BrokenRunError
from bench.server import Server, running
from fairlead import policy_file
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
    """The file with its jobs, if they are not generated."""

    def jobs(self) -> Sequence[Arrival]:
        """Return its trace."""
        if self.recorded is not None:
            return trace.read(self.recorded)
        return generate(self.workload, self.seed)

    @property
    def is_scene(self) -> bool:
        """Whether it is played on PostgreSQL only."""
        return self.workload.scene != "play"


@dataclass(slots=True)
class Found:
    """The runs of each workload, in the order in which they were asked for, and what broke."""

    runs: dict[str, list[Outcome]] = field(default_factory=dict[str, list[Outcome]])
    failures: list[str] = field(default_factory=list[str])
    postgres: str = ""
    """The version of what was played on; empty if nothing was."""


def evaluate(given: Arguments) -> Found:
    """Play what is asked for, each run after the one before.

    Raises:
        WorkloadRefusedError: A parameter file is none, or needs PostgreSQL.
        TraceRefusedError: The file with recorded jobs is not one.
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
    plays = [
        Play(name=row_name(path), workload=load(path, given.form), seed=seed)
        for path in given.workloads
    ]
    for play in plays:
        if play.is_scene and given.simulated:
            raise WorkloadRefusedError(f"{play.name} needs PostgreSQL: leave out --simulated")
    return plays


def _rules(path: Path | None) -> Mapping[str, object]:
    """Return the policy of a file; without one it says nothing."""
    if path is None:
        return {}
    text, _ = policy_file.read(path)
    return cast("Mapping[str, object]", document.read(text).value)


Seen = dict[str, Observed | Outcome]
"""By the name of the play: what became of its jobs, or, of a scene, all there is to say."""


def _on_postgresql(plays: Sequence[Play], found: Found) -> Seen:
    """Play what can be, one after the other, on a server of their own."""
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
    return real.play(
        server, jobs, slots=workload.slots, until_us=workload.until_us, edits=edits
    )


def _empty(play: Play, jobs: Sequence[Arrival]) -> Outcome:
    """Return what there is to say of a scene that broke: nothing was measured."""
    return Outcome(
        name=play.name,
        workload=play.workload,
        seed=play.seed,
        jobs=len(jobs),
        measured={},
        judged={},
    )


def _compare(
    plays: Sequence[Play], contenders: Sequence[str], seen: Mapping[str, Observed | Outcome]
) -> dict[str, Outcome]:
    """Play everything in simulated time, what takes longest first."""
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
    """Return about how much there is to play."""
    return play.workload.slots * play.workload.until_us * (1 + len(play.workload.extra))


def _observed(play: Play, seen: Mapping[str, Observed | Outcome]) -> Observed:
    observed = seen.get(play.name, _NOTHING)
    assert isinstance(observed, Observed)
    return observed


def _measure(play: Play, contenders: Sequence[str], observed: Observed) -> Outcome:
    chosen = contenders or (*ALWAYS, *play.workload.extra)
    jobs = play.jobs()
    return measure(play.name, play.workload, jobs, chosen, observed, seed=play.seed)
