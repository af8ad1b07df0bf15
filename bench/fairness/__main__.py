"""`python -m bench.fairness`: play workloads under Fairlead's order and reference policies.

Time is simulated: results depend on the seed and the parameters, and on nothing else. Exit
code 1 only for a broken run; with `--strict` for a missed target too.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType

from bench import machine
from bench.context import say
from bench.fairness import picture, real, report
from bench.fairness.contenders import (
    ALWAYS,
    FAIRLEAD,
    IDEAL,
    UnknownContenderError,
    contender,
)
from bench.fairness.generate import generate
from bench.fairness.outcome import Outcome, measure
from bench.fairness.record import record
from bench.fairness.scenes import scene
from bench.fairness.weights import Edit
from bench.fairness.workload import FOLDER, Workload, WorkloadRefusedError, load, recorded
from bench.processes import BrokenRunError
from bench.server import Server, running
from fairlead_scheduler.simulation import trace
from fairlead_scheduler.simulation.fleet import Played
from fairlead_scheduler.simulation.trace import Arrival, TraceRefusedError

_SEED = 1
_REAL = "W1,W3,W4,W8,W15,W15B"
"""What is played on PostgreSQL unless others are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What the command line asks for."""

    form: str
    workloads: tuple[Path, ...]
    contenders: tuple[str, ...]
    seed: int
    trace: Path | None
    slots: int | None
    export: Path | None
    real: bool
    scenes: bool
    strict: bool
    record: bool
    output: Path | None
    picture: Path | None


def _workloads(text: str) -> tuple[Path, ...]:
    """Return the parameter files of names such as W1, or of paths."""
    known = {path.stem.partition("-")[0].upper(): path for path in _own()}
    found: list[Path] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        path = known.get(part.upper(), Path(part))
        if not path.is_file():
            names = ", ".join(known)
            raise argparse.ArgumentTypeError(
                f"no workload {part}: there are {names}, or a file"
            )
        found.append(path)
    return tuple(found)


def _own() -> list[Path]:
    """Return the project's parameter files: W1, W3 and so on, then the others."""
    return sorted(FOLDER.glob("*.toml"), key=_place)


def _of_kind(*, scenes: bool) -> tuple[Path, ...]:
    """Return the scenes, or what can be played in simulated time."""
    return tuple(path for path in _own() if (load(path).scene != "play") == scenes)


def _place(path: Path) -> tuple[bool, int, str]:
    name = path.stem.partition("-")[0]
    return (not name.startswith("W"), len(name), name)


def _contenders(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    try:
        for name in names:
            contender(name, 1)
    except UnknownContenderError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return names


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.fairness", description=__doc__)
    parser.add_argument("--form", default="quick", choices=("quick", "full"))
    parser.add_argument(
        "--workload", type=_workloads, default=(), help="such as W1,W4, or a file; else all"
    )
    parser.add_argument(
        "--policy", type=_contenders, default=(), help="such as fairlead,sqs,round-robin@200"
    )
    parser.add_argument("--seed", type=int, default=_SEED)
    parser.add_argument("--trace", type=Path, help="play these jobs in place of generated ones")
    parser.add_argument("--slots", type=int, help="for --trace: how many jobs run at once")
    parser.add_argument("--export", type=Path, help="write the workload's jobs, play nothing")
    parser.add_argument(
        "--real", action="store_true", help="on PostgreSQL too, with a scheduler and a worker"
    )
    parser.add_argument(
        "--scenes",
        action="store_true",
        help="what needs PostgreSQL: leaders lost, limits, edits",
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 for a missed target")
    parser.add_argument("--record", action="store_true", help="rewrite the page of results")
    parser.add_argument("--output", type=Path, help="where the JSON goes")
    parser.add_argument("--picture", type=Path, help="where the SVG goes; beside the JSON")
    return parser


def _arguments(argv: Sequence[str] | None) -> Arguments:
    parser = _parser()
    given = parser.parse_args(argv)
    if given.record and (given.trace or given.policy or given.workload):
        parser.error("--record takes everything: leave out --workload, --policy and --trace")
    if given.export and len(given.workload) != 1:
        parser.error("--export needs one --workload")
    if (given.trace is None) != (given.slots is None) or (given.slots or 1) < 1:
        parser.error("--trace needs --slots, how many jobs run at once, and that needs --trace")
    if given.trace and given.real:
        parser.error("--trace is played in simulated time: leave out --real")
    if given.scenes and (given.real or given.trace or given.workload):
        parser.error("--scenes takes all scenes: for one of them say --real --workload W9")
    chosen = given.workload or (
        _of_kind(scenes=given.scenes) if given.scenes or not given.real else _workloads(_REAL)
    )
    return Arguments(
        form=given.form,
        workloads=chosen,
        contenders=given.policy,
        seed=given.seed,
        trace=given.trace,
        slots=given.slots,
        export=given.export,
        real=given.real or given.scenes,
        scenes=given.scenes,
        strict=given.strict,
        record=given.record,
        output=given.output,
        picture=given.picture,
    )


def _measure(path: Path, given: Arguments, server: Server | None = None) -> Outcome:
    workload = load(path, given.form, real=given.real)
    name = path.stem.partition("-")[0].upper()
    jobs = generate(workload, given.seed)
    if workload.scene == "play":
        return _play(name, workload, jobs, given, server)
    if server is None:
        raise WorkloadRefusedError(f"{path.name} needs PostgreSQL: add --real")
    begun = time.monotonic()
    outcome = scene(name, workload, jobs, given.seed, server)
    say(f"{name}: {len(jobs):,} jobs took {time.monotonic() - begun:.0f} s")
    return outcome


def _measure_recorded(path: Path, slots: int, given: Arguments) -> Outcome:
    jobs = trace.read(path)
    return _play(path.stem, recorded(jobs, slots), jobs, given, None)


def _play(
    name: str,
    workload: Workload,
    jobs: Sequence[Arrival],
    given: Arguments,
    server: Server | None,
) -> Outcome:
    begun = time.monotonic()
    contenders = given.contenders or _opponents(workload, given)
    played: tuple[Played, ...] = ()
    if server is not None:
        edits = (Edit(0, workload.weights, workload.policy), *workload.edited)
        played = real.play(
            server, jobs, slots=workload.slots, until_us=workload.until_us, edits=edits
        )
    outcome = measure(name, workload, jobs, contenders, played)
    seconds = time.monotonic() - begun
    policies = len(outcome.measured)
    say(f"{name}: {len(jobs):,} jobs under {policies} policies took {seconds:.0f} s")
    return outcome


def _opponents(workload: Workload, given: Arguments) -> tuple[str, ...]:
    """Return who is played beside Fairlead: on PostgreSQL only those that a target is about."""
    if not given.real:
        return (*ALWAYS, *workload.extra)
    over = (each.over for each in workload.compare.values() if each.of == FAIRLEAD)
    return tuple(dict.fromkeys((FAIRLEAD, IDEAL, *over)))


def _outcomes(given: Arguments) -> list[Outcome]:
    if given.trace is not None and given.slots is not None:
        return [_measure_recorded(given.trace, given.slots, given)]
    if given.real:
        signal.signal(signal.SIGTERM, _leave)
        with running() as server:
            return [_measure(path, given, server) for path in given.workloads]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(partial(_measure, given=given), given.workloads))


def _leave(number: int, _frame: FrameType | None) -> None:
    """End like an interruption does, so that everything started is stopped on the way out."""
    raise SystemExit(128 + number)


def _run(given: Arguments) -> int:
    if given.export is not None:
        trace.write(given.export, generate(load(given.workloads[0], given.form), given.seed))
        say(f"written to {given.export}")
        return 0
    begun = time.monotonic()
    say(f"seed {given.seed}")
    outcomes = _outcomes(given)
    run = report.Run(
        form=given.form,
        seed=given.seed,
        machine=machine.describe(),
        seconds=time.monotonic() - begun,
        real=given.real,
        scenes=given.scenes,
    )
    report.show(outcomes, run)
    written = report.write(outcomes, run, given.output)
    say(f"written to {written}")
    compared = [outcome for outcome in outcomes if not outcome.is_scene]
    if compared:
        drawn = given.picture or written.with_suffix(".svg")
        picture.draw(drawn, compared)
        say(f"drawn into {drawn}")
    if given.record:
        record(outcomes, run)
    missed = any(verdict.missed for outcome in outcomes for verdict in outcome.verdicts)
    return 1 if given.strict and missed else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says; return the exit code."""
    try:
        return _run(_arguments(argv))
    except (TraceRefusedError, WorkloadRefusedError, OSError) as error:
        print(f"bench.fairness: {error}", file=sys.stderr)
        return 2
    except BrokenRunError as error:
        print(f"bench.fairness: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
