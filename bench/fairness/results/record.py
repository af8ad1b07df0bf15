"""Write a run's tables and picture into the page about fairness, each between its two marks.

The quick form writes the main table and everything below it; the full form its own table. Of
some scenes by name only their own rows are written, with the conditions of that run.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from bench.fairness.results import picture
from bench.fairness.results.figures import COSTS
from bench.fairness.results.outcome import Outcome, middle
from bench.fairness.results.report import (
    Run,
    Runs,
    cells,
    costs,
    heads,
    size,
    title,
    value,
)
from bench.fairness.results.table import rows
from bench.machine import ROOT

PAGE = ROOT / "docs/explanation/fairness.md"
PICTURE = ROOT / "docs/images/fairness.png"
_ATTACKS = ("attacks", "handlers", "floods")
_BLOCK = re.compile(r"^(?=\*\*)", re.MULTILINE)
"""Where the figures of one workload begin."""


def record(runs: Runs, run: Run) -> None:
    """Replace the parts of the page that this form writes; the quick form draws a picture."""
    outcomes = [middle(of_one) for of_one in runs]
    plays = [outcome for outcome in outcomes if not outcome.is_scene]
    attacks = [outcome for outcome in outcomes if outcome.workload.scene in _ATTACKS]
    scenes = [each for each in outcomes if each.is_scene and each not in attacks]
    text = PAGE.read_text(encoding="utf-8")
    if run.form == "full":
        text = replaced(text, "the full form", [*targets(runs, run), "", *_details(scenes)])
    else:
        text = replaced(text, "the table", targets(runs, run))
        text = replaced(text, "policies", _details(plays))
        text = replaced(text, "costs", _costs(plays))
        text = replaced(text, "scenes", _details(scenes))
        text = replaced(text, "attacks", _details(attacks))
        picture.draw(PICTURE, plays)
    PAGE.write_text(text, encoding="utf-8")


def record_some(runs: Runs, run: Run) -> None:
    """Replace the rows and figures of these scenes, and say with what they were measured."""
    PAGE.write_text(with_scenes(PAGE.read_text(encoding="utf-8"), runs, run), encoding="utf-8")


def with_scenes(text: str, runs: Runs, run: Run) -> str:
    """Return the page with the rows and figures of these scenes, all others as they were."""
    outcomes = [middle(of_one) for of_one in runs]
    names = [outcome.name for outcome in outcomes]
    table = part_of(text, "the table")
    text = replaced(text, "the table", _with_rows(table, names, runs, run))
    for outcome in outcomes:
        part = "attacks" if outcome.workload.scene in _ATTACKS else "scenes"
        blocks = _BLOCK.split(part_of(text, part).strip())
        mine = "\n".join(_details([outcome]))
        place = _place(blocks, outcome.name)
        blocks[place : place + 1] = [mine]
        text = replaced(text, part, ["\n\n".join(block.strip() for block in blocks if block)])
    return text


def _place(blocks: Sequence[str], name: str) -> int:
    """Return where a workload's figures are, or the end."""
    begin = f"**{name}**: "
    places = (place for place, block in enumerate(blocks) if block.startswith(begin))
    return next(places, len(blocks))


def _with_rows(table: str, names: Collection[str], runs: Runs, run: Run) -> Iterator[str]:
    """Yield the lines of a table with these workloads' rows, and of each its conditions."""
    old = [
        line
        for line in table.strip().splitlines()
        if not line.startswith(tuple(begin for name in names for begin in _begins(name)))
    ]
    first = next(place for place, line in enumerate(old) if line.startswith("|"))
    yield from old[:first]
    for name in names:
        yield f"{name}: {run.conditions}\n"
    yield from (line for line in old[first:] if line)
    yield from list(targets(runs, run))[3:]


def _begins(name: str) -> tuple[str, str]:
    """Return how lines of a workload begin in the table of targets and above it."""
    return f"| {name} |", f"{name}: "


def part_of(text: str, part: str) -> str:
    """Return what is between the marks of one part."""
    begin, end = _marks(part)
    return text.partition(begin)[2].partition(end)[0]


def _marks(part: str) -> tuple[str, str]:
    begin = f"<!-- python -m bench.fairness --record writes: {part} -->\n"
    return begin, f"<!-- end of {part} -->\n"


def replaced(text: str, part: str, lines: Iterable[str]) -> str:
    """Return the page with one of its parts replaced."""
    begin, end = _marks(part)
    before, first, rest = text.partition(begin)
    _, last, after = rest.partition(end)
    assert first, f"{PAGE.name} has lost the mark {begin.strip()}"
    assert last, f"{PAGE.name} has lost the mark {end.strip()}"
    written = "\n".join(lines)
    return f"{before}{begin}\n{written}\n\n{end}{after}"


def targets(runs: Runs, run: Run) -> Iterator[str]:
    """Return the table of targets as lines, after the conditions."""
    yield f"{run.conditions}\n"
    yield from _table(
        ("", "workload", *heads(run)),
        [
            (
                row.name,
                row.title,
                *cells(row, run)[:-1],
                f"**missed**: {row.why}" if row.missed else row.result,
            )
            for row in rows(runs)
        ],
    )


def _costs(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield from _table(("", *(title(figure)[0] for figure in COSTS)), costs(outcomes))


def _details(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Return each workload's figures: of each contender, or of each part of a scene."""
    for place, outcome in enumerate(outcomes):
        show, numbers = outcome.workload.show, outcome.workload.numbers
        if place:
            yield ""
        yield f"**{outcome.name}**: {outcome.workload.title}."
        yield f"{size(outcome)}.\n"
        yield from _table(
            (
                *(("no.",) if numbers else ()),
                "" if outcome.is_scene else "policy",
                *(title(figure)[0] for figure in show),
            ),
            [
                (
                    *((numbers.get(name, "-"),) if numbers else ()),
                    name,
                    *(value(figure, measured.get(figure)) for figure in show),
                )
                for name, measured in outcome.measured.items()
            ],
        )


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    yield _row(head)
    yield _row(["---"] * len(head))
    yield from map(_row, lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")
