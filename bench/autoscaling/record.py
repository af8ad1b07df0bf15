"""The tables of a run as Markdown, written into the page about autoscaling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bench.autoscaling.elsewhere import Elsewhere
from bench.autoscaling.evaluation import Row, Runs
from bench.autoscaling.fault_scenarios import Comparison
from bench.autoscaling.picture import draw
from bench.autoscaling.run import Figures
from bench.machine import ROOT

PAGE = ROOT / "docs/explanation/autoscaling.md"
PICTURE = ROOT / "docs/images/autoscaling.png"
_COLUMNS = (
    "late %|p50|p95|p99|max|first, s|pod-h|wasted, s|U %|O %|U time|O time|instable|acts|flips"
    "|stopped"
)


def record(parts: Mapping[str, Iterable[str]], runs: Runs) -> None:
    """Replace the generated parts of the page, and the picture."""
    text = PAGE.read_text("utf-8")
    for part, lines in parts.items():
        text = replaced(text, part, lines)
    PAGE.write_text(text, "utf-8")
    draw(PICTURE, runs)


def replaced(text: str, part: str, lines: Iterable[str]) -> str:
    """Return the page with one of its parts replaced."""
    begin = f"<!-- python -m bench.autoscaling --record writes: {part} -->\n"
    end = f"<!-- end of {part} -->\n"
    before, first, rest = text.partition(begin)
    _, last, after = rest.partition(end)
    assert first, f"{PAGE.name} has lost the mark {begin.strip()}"
    assert last, f"{PAGE.name} has lost the mark {end.strip()}"
    written = "\n".join(lines)
    return f"{before}{begin}\n{written}\n\n{end}{after}"


def targets(found: Sequence[Row], seeds: Sequence[int], others: Elsewhere) -> Iterator[str]:
    """Return the table of targets with the simulated figures and those measured elsewhere."""
    yield f"T1 to T6 are simulated, with seeds from {seeds[0]} to {seeds[-1]}. {others.note}"
    yield ""
    yield "| | figure | at most | measured | 95 % interval, or of what | result |"
    yield "|---|---|---|---|---|---|"
    for row in found:
        each = row.measured
        yield (
            f"| {row.target} | {row.what} | {row.most:g} | {each.figure:.2f} "
            f"| {each.low:.2f} to {each.high:.2f} | {_result(met=row.met)} |"
        )
    yield from measured(others)


def measured(others: Elsewhere) -> Iterator[str]:
    """Return the table's lines for figures measured elsewhere."""
    for each in others.figures:
        yield (
            f"| {each.target} | {each.what} | {each.most:g} | {each.measured:g} "
            f"| {each.over} | {_result(met=each.met)} |"
        )


def every_run(runs: Runs) -> Iterator[str]:
    """Return the means over the seeds of every controller on every workload."""
    yield f"| workload | controller | {' | '.join(_COLUMNS.split('|'))} |"
    yield "|" + "---|" * (2 + len(_COLUMNS.split("|")))
    for (name, contender), found in runs.items():
        yield f"| {name} | {contender} | {' | '.join(_cells(found))} |"


def faults(found: Iterable[Comparison]) -> Iterator[str]:
    """Return the results of each scenario."""
    yield (
        "| | late % | p99, s | pod-h | KPA: late % | p99, s | pod-h | stopped by us | by KPA |"
    )
    yield "|" + "---|" * 9
    for each in found:
        cells = [
            cell
            for of in (each.ours, each.kpas)
            for cell in (
                f"{100 * mean(of, 'late_share'):.2f}",
                f"{mean(of, 'wait_p99'):.1f}",
                f"{mean(of, 'pod_hours'):.1f}",
            )
        ]
        stopped = [f"{mean(of, 'interrupted'):.0f}" for of in (each.ours, each.kpas)]
        yield f"| {each.name} | {' | '.join((*cells, *stopped))} |"


def mean(found: Sequence[Figures], what: str) -> float:
    """Return the mean of a figure."""
    return sum(float(getattr(each, what)) for each in found) / len(found)


def _result(*, met: bool) -> str:
    return "met" if met else "MISSED"


def _cells(found: Sequence[Figures]) -> list[str]:
    waits = ("wait_p50", "wait_p95", "wait_p99", "wait_max", "first_wait", "pod_hours")
    shares = ("under", "over", "under_time", "over_time", "instability")
    return [
        f"{100 * mean(found, 'late_share'):.2f}",
        *(f"{mean(found, what):.1f}" for what in waits),
        f"{mean(found, 'wasted_seconds'):.0f}",
        *(f"{100 * mean(found, what):.1f}" for what in shares),
        *(f"{mean(found, what):.0f}" for what in ("actions", "flips", "interrupted")),
    ]
