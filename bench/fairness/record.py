"""Write a run's tables and picture into the page about fairness, between its two marks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.fairness import picture
from bench.fairness.outcome import Outcome
from bench.fairness.report import Run, bound, title, value, word
from bench.machine import ROOT

PAGE = ROOT / "docs/explanation/fairness.md"
PICTURE = ROOT / "docs/images/fairness.svg"
BEGIN = "<!-- written by python -m bench.fairness --record -->\n"
END = "<!-- end of what was written -->\n"


def record(outcomes: Sequence[Outcome], run: Run) -> None:
    """Replace what the last run wrote; a repeat with the same seed changes the date only."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, mark, after = rest.partition(END)
    assert mark, f"{PAGE.name} has lost the mark {END.strip()}"
    text = "\n".join(_lines(outcomes, run))
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
    picture.draw(PICTURE, outcomes)


def _lines(outcomes: Sequence[Outcome], run: Run) -> Iterator[str]:
    commit, date = run.machine.commit, run.machine.date[:10]
    yield f"The {run.form} form, seed {run.seed}, commit {commit}, {date}."
    yield "Time is simulated, so the machine does not matter.\n"
    yield from _table(
        ("", "workload", "figure", "target (stretch)", "measured", ""),
        [
            (
                outcome.name,
                outcome.workload.title,
                title(verdict.figure)[0],
                bound(verdict.target),
                value(verdict.figure, verdict.measured),
                word(verdict),
            )
            for outcome in outcomes
            for verdict in outcome.verdicts
        ],
    )
    for outcome in outcomes:
        workload, show = outcome.workload, outcome.workload.show
        yield f"\n**{outcome.name}**: {workload.title}. {workload.slots} slots,"
        yield f"{workload.seconds:g} s, {outcome.jobs:,} jobs.\n"
        yield from _table(
            ("policy", *(title(figure)[0] for figure in show)),
            [
                (name, *(value(figure, measured.get(figure)) for figure in show))
                for name, measured in outcome.measured.items()
            ],
        )
    yield ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield _row(head)
    yield _row(["---"] * len(head))
    yield from map(_row, rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")
