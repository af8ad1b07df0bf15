"""The command line: which rows, in which form, how often, and where the output goes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.fairness.contenders.registry import UnknownContenderError, contender
from bench.fairness.traffic.workload import FOLDER, Form, load

_SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The parsed command line."""

    form: Form
    workloads: tuple[Path, ...]
    cases: tuple[str, ...]
    """Which rows of the scenes `attacks` and `handlers` are played; none: all."""
    contenders: tuple[str, ...]
    seeds: tuple[int, ...]
    """One per run."""
    trace: Path | None
    slots: int | None
    rules: Path | None
    """A policy for `trace`, which only Fairlead applies."""
    export: Path | None
    simulated: bool
    """Whether to skip PostgreSQL."""
    strict: bool
    record: bool
    some: bool
    """Whether `record` replaces the rows of some scenes only."""
    output: Path | None
    picture: Path | None


def row_name(path: Path) -> str:
    """Return a parameter file's name in the table: W12 or STORM."""
    return path.stem.partition("-")[0].upper()


def own() -> list[Path]:
    """Return the project's parameter files: W1, W3 and so on, then the others."""
    return sorted(FOLDER.glob("*.toml"), key=_place)


def _place(path: Path) -> tuple[bool, int, str]:
    name = row_name(path)
    digits = "".join(each for each in name[1:] if each.isdigit())
    is_other = not name.startswith("W") or not digits
    return is_other, 0 if is_other else int(digits), name


def _workloads(text: str) -> tuple[Path, ...]:
    """Return the parameter files for names such as W1, or for paths."""
    known = {row_name(path): path for path in own()}
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


def _contenders(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    try:
        for name in names:
            contender(name, 1)
    except UnknownContenderError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return names


def _parser(about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.fairness", description=about)
    add = parser.add_argument
    add("--form", default="quick", choices=("quick", "full"))
    add("--only", type=_workloads, default=(), help="rows such as W1,W5, or a file; else all")
    add("--case", action="append", default=[], help="a row of ATTACKS or HANDLERS, or several")
    add("--simulated", action="store_true", help="without PostgreSQL: a minute, any machine")
    add("--policy", type=_contenders, default=(), help="such as fairlead,sqs,round-robin@200")
    add("--seed", type=int, default=_SEED)
    add("--runs", type=int, default=1, help="how often, each with the next seed")
    add("--trace", type=Path, help="play these jobs in place of generated ones, simulated")
    add("--slots", type=int, help="for --trace: how many jobs run at once")
    add("--rules", type=Path, help="for --trace: a policy file, which only fairlead applies")
    add("--export", type=Path, help="write the workload's jobs, play nothing")
    add("--strict", action="store_true", help="exit 1 for a missed target")
    add(
        "--record",
        action="store_true",
        help="write the page of results; with --only, these scenes",
    )
    add("--output", type=Path, help="where the JSON goes")
    add("--picture", type=Path, help="where the PNG goes; default: next to the JSON")
    return parser


def arguments(argv: Sequence[str] | None, about: str) -> Arguments:
    """Parse the command line; for an invalid one print a sentence and exit with code 2."""
    parser = _parser(about)
    given = parser.parse_args(argv)
    if given.record and (given.trace or given.policy or given.simulated):
        parser.error("--record takes everything: leave out --simulated, --policy and --trace")
    some = bool(given.record and given.only and given.form == "quick")
    if some and any(load(path).scene == "play" for path in given.only):
        parser.error("--record takes all workloads without a scene: leave out --only")
    if given.record and given.case:
        parser.error("--record takes all rows of a scene: leave out --case")
    if given.export and len(given.only) != 1:
        parser.error("--export needs one --only")
    if (given.trace is None) != (given.slots is None) or (given.slots or 1) < 1:
        parser.error("--trace needs --slots, how many jobs run at once, and that needs --trace")
    if given.rules is not None and given.trace is None:
        parser.error("--rules is a policy for --trace: give that, too")
    if given.runs < 1:
        parser.error("--runs must be at least 1")
    return Arguments(
        form=given.form,
        workloads=given.only or _all(given),
        cases=tuple(given.case),
        contenders=given.policy,
        seeds=tuple(range(given.seed, given.seed + given.runs)),
        trace=given.trace,
        slots=given.slots,
        rules=given.rules,
        export=given.export,
        simulated=given.simulated or given.trace is not None,
        strict=given.strict,
        record=given.record,
        some=some,
        output=given.output,
        picture=given.picture,
    )


def _all(given: argparse.Namespace) -> tuple[Path, ...]:
    """Return the rows of a form; without PostgreSQL there are no scenes."""
    forms = {given.form, "record"} if given.record else {given.form}
    return tuple(
        path
        for path, workload in ((path, load(path)) for path in own())
        if forms.intersection(workload.forms)
        and not (given.simulated and workload.scene != "play")
    )
