"""Write a run's tables and picture into the page about fairness, between its two marks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.fairness import picture
from bench.fairness.contenders import FAIRLEAD, IDEAL, REAL
from bench.fairness.outcome import Outcome
from bench.fairness.report import Run, bound, title, value, word
from bench.machine import ROOT

PAGE = ROOT / "docs/explanation/fairness.md"
PICTURE = ROOT / "docs/images/fairness.svg"


def record(outcomes: Sequence[Outcome], run: Run) -> None:
    """Replace what the last such run wrote; of simulated ones there is a picture too."""
    options = (
        "--scenes --record" if run.scenes else "--real --record" if run.real else "--record"
    )
    begin = f"<!-- written by python -m bench.fairness {options} -->\n"
    end = f"<!-- end of what {options} wrote -->\n"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    _, mark, after = rest.partition(end)
    assert mark, f"{PAGE.name} has lost the mark {end.strip()}"
    text = "\n".join(_lines(outcomes, run))
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")
    if not run.real:
        picture.draw(PICTURE, outcomes)


def _lines(outcomes: Sequence[Outcome], run: Run) -> Iterator[str]:
    commit, date = run.machine.commit, run.machine.date[:10]
    yield f"The {run.form} form, seed {run.seed}, commit {commit}, {date}."
    if run.real:
        yield f"{run.machine.cpu_model}, {run.machine.cores} cores.\n"
    else:
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
            ("" if outcome.is_scene else "policy", *(title(figure)[0] for figure in show)),
            [
                (name, *(value(figure, measured.get(figure)) for figure in show))
                for name, measured in outcome.measured.items()
                if not run.real or outcome.is_scene or name in {REAL, FAIRLEAD, IDEAL}
            ],
        )
    yield ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield _row(head)
    yield _row(["---"] * len(head))
    yield from map(_row, rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")
