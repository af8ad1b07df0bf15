"""The page of the mutants: what was killed, what survived, what is no other product, and why.

Each kind of mutant is recorded by itself, and generated ones by their source: what was not
judged this time stays as it stands, with the commit at which it was.
"""

import re
import subprocess
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from bench import machine
from tests.mutants.mutants import FOLDER, Mutant, Verdict, mutants
from tests.support import tree

PAGE = tree.ROOT / "docs/reference/proof/mutants.md"
_HOLES = FOLDER / "machinery.toml"

_INTRODUCTION = """\
# Mutants: which tests hold which line

A mutant is the product with one mend taken back, or one lock, condition, limit or comparison
changed. It is *killed* if a test fails on it that passes on the product, and has *survived*
else. It is *equivalent* if no test can tell it from the product, which is said why. The mutants
stand in `tests/mutants`, and `python -m tests.mutants` judges them.
"""
_PARTS = ("By hand", "Generated", "What finds each hole by itself")
_ROW = re.compile(r"^\| `([^`]+)` \|.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a mutant."""

    mutant: Mutant
    verdict: Verdict
    seconds: float


@cache
def commit() -> str:
    """Return the commit as it was when this was first asked: before anything is judged.

    The page itself changes with each row, and is no part of what is judged.
    """
    changed = subprocess.run(
        ["/usr/bin/env", "git", "status", "--porcelain", "-uno", "--", ".", f":!{PAGE}"],
        cwd=tree.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return machine.commit().rstrip("+") + ("+" if changed.stdout.strip() else "")


def write_by_hand(judged: Sequence[Judged]) -> None:
    """Record what became of the mutants that people have made.

    What was not judged this time stays as it stands, if there is such a mutant still.
    """
    rows = _rows_by_hand()
    rows |= {each.mutant.name: _row_by_hand(each) for each in judged}
    rows = {each.name: rows[each.name] for each in mutants() if each.name in rows}
    counts = Counter(row.split(" | ")[2].split(":")[0] for row in rows.values())
    said = (f"{counts[x.value]} {x.value}" for x in Verdict if counts[x.value])
    unasked = len(mutants()) - len(rows)
    left = f"; {unasked} were not judged yet" if unasked else ""
    lines = [
        "Each row is a mend or a condition, and the files with the tests that were asked.",
        "`make proof` judges them all, and `python -m tests.mutants --unrecorded --record`",
        "those that no row is of.",
        "",
        f"Of {len(rows)}: {', '.join(said)}{left}.",
        "",
        "| without its mend | what went wrong | verdict | tests | commit |",
        "| --- | --- | --- | --- | --- |",
        *rows.values(),
    ]
    _write("By hand", lines)


def recorded() -> set[str]:
    """Return the names of the mutants by hand that the page has a row of."""
    return {*_rows_by_hand()}


def _rows_by_hand() -> dict[str, str]:
    by_cell = {_line(each.name): each.name for each in mutants()}
    lines = _read().get("By hand", "").splitlines()
    found = {line.split(" | ")[0].removeprefix("| "): line for line in lines}
    return {by_cell[cell]: line for cell, line in found.items() if cell in by_cell}


def _row_by_hand(judged: Judged) -> str:
    mutant, verdict = judged.mutant, judged.verdict.value
    named = {test.split("::")[0].removeprefix("tests/") for test in mutant.tests}
    files = ", ".join(f"`{name}`" for name in sorted(named))
    if mutant.equivalent:
        verdict += f": {mutant.equivalent}"
    return _row(mutant.name, mutant.why, verdict, files, commit())


def write_generated(judged: Sequence[Judged], made: Mapping[str, int]) -> None:
    """Record what became of generated mutants, beside what is known of other sources.

    Args:
        judged: those of this run.
        made: how many mutants there are of each source that was asked for.
    """
    by_source: dict[str, list[Judged]] = defaultdict(list)
    for each in judged:
        by_source[each.mutant.source].append(each)
    before = _read().get("Generated", "")
    rows = {found[1]: found[0] for found in _ROW.finditer(before)}
    kept = [line for line in before.splitlines() if line.startswith("* ")]
    told = [line for line in kept if line.removeprefix("* ").split(": ")[0] not in by_source]
    for source, ours in by_source.items():
        counts = Counter(each.verdict for each in ours)
        verdicts = (Verdict.KILLED, Verdict.SURVIVED, Verdict.EQUIVALENT)
        numbers = (made[source], len(ours), *(counts[each] for each in verdicts))
        rows[source] = _row(f"`{source}`", *map(str, numbers), commit())
        for each in ours:
            if each.verdict is not Verdict.KILLED:
                said = each.mutant.equivalent or each.verdict.value
                told.append(f"* {' '.join(each.mutant.name.split())}: {said}")
    lines = [
        "Operators take away or turn round one lock, condition, check, limit, order or",
        "comparison of every statement, every function of the schema and the decisions of the",
        "fair order and of rates. What PostgreSQL refuses is no mutant. The tests of a source",
        "are those of `generated.toml`, or else those that name it: a survivor says that these",
        "tell nothing of it. `python -m tests.mutants --generated --only TEXT` judges those",
        "with a text in their names, `--sample N --seed N` some that a seed chooses.",
        "",
        _sums(rows.values()),
        "",
        "| source | mutants | judged | killed | survived | equivalent | commit |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *(rows[source] for source in sorted(rows)),
        "",
        *(["What was not killed:", "", *sorted(told)] if told else []),
    ]
    _write("Generated", lines)


def holes() -> Sequence[Mapping[str, Any]]:
    """Return the holes, each with the mutant that opens it again and what may find that."""
    found: Sequence[Mapping[str, Any]] = tomllib.loads(_HOLES.read_text("utf-8"))["hole"]
    return found


def write_holes(found: Mapping[tuple[str, str], bool], seed: int = 0) -> None:
    """Record what finds each hole when its mend is taken back.

    What was not asked this time stays as it stands, with the commit at which it was.

    Args:
        found: whether a test of the machinery has failed on a mutant; what is not said has not
            been asked.
        seed: what chaos drew from.
    """
    before = _read().get("What finds each hole by itself", "")
    kept = {line.split(" | ")[0].removeprefix("| "): line for line in before.splitlines()}
    rows = [_hole_row(hole, found, kept.get(_line(hole["what"]), ""), seed) for hole in holes()]
    count = sum(_is_found(row) for row in rows)
    unasked = sum("not asked yet" in row for row in rows)
    left = f"; {unasked} were not asked yet" if unasked else ""
    lines = [
        "Hours of hostile use have found these holes. Here the mend of each is taken back, and",
        "what asks for no case by its name runs as it is: orders of steps, simulations, chaos,",
        "and values that are generated. The model has no part of the product in it: it has a",
        "variant that is open in the same way, of which it prints how it goes wrong.",
        "",
        f"**{count} of {len(rows)} holes are found by themselves**{left}.",
        "`python -m tests.mutants --holes --record --seed 1` asks for all of them, or for",
        "some: each test alone, and first on the product, where it has to pass. What chaos",
        "does follows from the seed; the rest draws nothing.",
        "",
        "| hole | without its mend | found by | by the model | not found, because | commit |",
        "| --- | --- | --- | --- | --- | --- |",
        *rows,
    ]
    _write("What finds each hole by itself", lines)


def _hole_row(
    hole: Mapping[str, Any], found: Mapping[tuple[str, str], bool], kept: str, seed: int
) -> str:
    """Return the row of a hole: what finds it as it is known now, or as it was."""
    names = [test.removeprefix("tests/") for test in hole.get("by", [])]
    known = [found.get((hole["mutant"], test)) for test in hole.get("by", [])]
    said = {True: "", False: ": not", None: ": not asked yet"}
    by = ", ".join(f"`{name}`{said[each]}" for name, each in zip(names, known, strict=True))
    is_asked = any(each is not None for each in known)
    where = f"{commit()}, seed {seed}" if is_asked else ""
    if names and not is_asked and all(f"`{_line(name)}`" in kept for name in names):
        _, _, by, *_, where = kept.removeprefix("| ").removesuffix(" |").split(" | ")
    variant = f"`{hole['model']}`" if "model" in hole else ""
    return _row(hole["what"], hole["mutant"], by, variant, hole.get("because", ""), where)


def _is_found(row: str) -> bool:
    """Return whether a row names a test without a word behind it."""
    return any(each.strip().endswith("`") for each in row.split(" | ")[2].split(", "))


def _sums(rows: Iterable[str]) -> str:
    numbers = [[int(cell) for cell in row.split(" | ")[1:6]] for row in rows]
    made, judged, killed, survived, equivalent = map(sum, zip(*numbers, strict=True))
    return (
        f"Of {made} mutants of these sources {judged} were judged: {killed} killed,"
        f" {survived} survived, {equivalent} equivalent."
    )


def _read() -> dict[str, str]:
    """Return the parts of the page as it stands, by their headings."""
    if not PAGE.exists():
        return {}
    parts = re.split(r"^## (.+)\n", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _write(heading: str, lines: Sequence[str]) -> None:
    parts = _read() | {heading: "\n" + "\n".join(lines).rstrip() + "\n\n"}
    text = "".join(f"\n## {each}\n{parts[each].rstrip()}\n" for each in _PARTS if each in parts)
    PAGE.write_text(_INTRODUCTION + text, "utf-8")


def _row(*cells: str) -> str:
    return f"| {' | '.join(map(_line, cells))} |"


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
