"""What the demo prints fits a terminal, and its work keeps the skew of the packages."""

from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from examples.demo import picture, report, sources
from examples.demo.report import Change, Outcome, Wait, Workers
from examples.demo.screen import screen
from examples.demo.sources import Classes
from examples.demo.watch import PolicyInForce, Reading, Scaled, draw, line, policy_text, why
from fairlead_autoscaler.decision.reasons import SENTENCES

IN_FORCE = PolicyInForce(2, "0123456789ab", ("a package", "one with a long name"), 1.0)
OUTCOME = Outcome(10, 0, 0, 0, 9, 1, 12_345_678, 40.0, 148, 10, 0)
SCALED = Scaled(
    2, "BacklogDrain", "as many as clear the backlog before the objective is missed"
)
WORKERS = Workers(1, 2, 1, (Change(1.26, 1, 2, SCALED.reason, SCALED.says),))
CLASSES = Classes("flood", frozenset(), frozenset({"small"}))


def reading(
    *, seconds: float = 0.0, events: tuple[str, ...] = (), in_force: PolicyInForce | None = None
) -> Reading:
    """Return a look at a large run."""
    return Reading(
        seconds=seconds,
        ended=12_345,
        unfinished=12_345,
        coming=0,
        queued=16,
        running=8,
        recovered=0,
        leader="scheduler-a",
        events=events,
        in_force=in_force,
    )


def test_a_progress_line_fits_80_columns() -> None:
    """Even at the end of a long run of many jobs."""
    assert 80 >= len(line(reading(seconds=179.9)))


def test_the_policy_and_what_its_tenant_gets_stand_under_each_progress_line() -> None:
    """Version and digest name what is in force; the share moves when it is edited."""
    out = StringIO()
    with screen(Console(file=out, width=80), live=False) as show:
        for seconds in (0.0, 1.0, 2.0):
            show(reading(seconds=seconds, in_force=IN_FORCE))

    said = "policy 2 (0123456789ab): a package + one with a  have 100% of slot-time"
    assert said == policy_text(IN_FORCE)
    assert 2 == out.getvalue().splitlines().count(f"{'':9}{said}")
    assert 80 >= max(map(len, out.getvalue().splitlines()))


def test_without_a_terminal_a_line_comes_every_two_seconds_and_each_event_once() -> None:
    """Looks are taken more often than anybody wants to read."""
    out = StringIO()
    with screen(Console(file=out, width=80), live=False) as show:
        for seconds in (0.0, 0.5, 1.0, 2.0):
            show(reading(seconds=seconds, events=("  0.4 s  worker-1 killed",)))

    said = out.getvalue().splitlines()
    assert ["  0.4 s", "  0.0 s", "  2.0 s"] == [text[:7] for text in said]


@pytest.mark.parametrize("says", SENTENCES.values())
def test_why_there_are_so_many_workers_stands_under_each_progress_line(says: str) -> None:
    """A word's sentence, cut where a line ends."""
    out = StringIO()
    scaled = replace(SCALED, says=says)
    with screen(Console(file=out, width=80), live=False) as show:
        for seconds in (0.0, 1.0, 2.0):
            show(replace(reading(seconds=seconds), scaled=scaled))

    said = out.getvalue().splitlines()
    assert f"2 workers: {says}" == why(scaled)
    assert 2 == sum(text.startswith(f"{'':9}2 workers: {says[:40]}") for text in said)
    assert 80 >= max(map(len, said))


def test_the_live_view_says_why_before_any_worker_is_there() -> None:
    """Who leads stands in one line though the table below it is empty."""
    out = StringIO()
    seen = replace(reading(seconds=1.0), scaled=SCALED, leader="scheduler-a", workers=())

    Console(file=out, width=100).print(draw(seen))

    said = out.getvalue()
    assert f"2 workers: {SCALED.says}" in said
    assert "leader: scheduler-a" in said


def test_the_tables_fit_80_columns_and_say_what_is_waited_for() -> None:
    """A wait is of a job that could run, for the start of its attempt."""
    out = StringIO()
    console = Console(file=out, width=80)
    waited = [
        Wait("measure", "flood", 12.3, 20.0),
        Wait("remind", "caller-1", 0.2, 3.0),
    ]

    console.print(report.counts(OUTCOME, WORKERS))
    console.print(report.scaled(WORKERS))
    console.print(report.waiting(waited, CLASSES))

    said = out.getvalue()
    assert "1 → 2 → 1" in said
    assert ["1.3 s", "1 → 2", "BacklogDrain: as many as"] == [
        cell.strip()[:24] for cell in _row(said, "BacklogDrain")
    ]
    assert "from when it could run until it started" in said
    assert "flood, the largest package" in said
    assert "reminders, from when they fell due" in said
    assert 80 >= max(map(len, said.splitlines()))


def _row(said: str, word: str) -> list[str]:
    """Return the cells of a table's line that has this word."""
    line = next(line for line in said.splitlines() if word in line)
    return line.strip("│").split("│")


@pytest.mark.parametrize("what", ["lost", "doubled", "unsuccessful", "interrupted"])
def test_a_run_is_good_when_nothing_went_wrong(what: str) -> None:
    """A job that scaling in interrupted is as bad as a lost one."""
    assert OUTCOME.good
    assert not replace(OUTCOME, **{what: 1}).good


def test_the_result_in_json_says_what_the_tables_say() -> None:
    """Programs read the same numbers, waits in seconds."""
    result = replace(OUTCOME, doubled=1)
    waited = [Wait("measure", "flood", seconds, 20.0) for seconds in (0.5, 1.5, 2.5)]

    said = report.as_json(result, waited, CLASSES, None, WORKERS)

    assert (False, 1, 0) == (said["good"], said["doubled"], said["lost"])
    assert asdict(WORKERS) == said["workers"]
    assert [
        {
            "jobs_of": "flood, the largest package",
            "jobs": 3,
            "p50_seconds": 1.5,
            "p99_seconds": 2.5,
        }
    ] == said["waits"]


def test_the_packages_with_the_most_files_are_the_flood() -> None:
    """The others come one by one beside them; long files are left out, and counted."""
    all_of_it, some = sources.find(file_bytes_max=10**9), sources.find(file_bytes_max=20_000)
    classes = some.classes

    assert all_of_it.files == some.files + some.left_out
    assert all(path.stat().st_size <= 20_000 for _, paths in some.packages for path in paths)
    assert (some.packages[0][0], 5) == (classes.largest, len(classes.large))
    assert {name for name, _ in some.packages} == (
        {classes.largest} | classes.large | classes.small
    )
    assert len(some.flood[-1][1]) >= len(some.small[0][1])


def test_the_same_run_gives_the_same_small_picture_without_a_path(tmp_path: Path) -> None:
    """It stands in the documentation: no date, no random names, nothing of the machine."""
    waited = [
        Wait("measure", f"package-{job % 80}", 0.1, job / 100) for job in range(8_000)
    ] + [Wait("measure", "flood", 0.1, job / 100) for job in range(4_000)]
    small = [f"package-{number}" for number in range(80)]
    totals = {"flood": 4_000, **dict.fromkeys(small, 50)}
    classes = Classes("flood", frozenset(), frozenset(small))
    first, second = tmp_path / "1.svg", tmp_path / "2.svg"

    for path in (first, second):
        picture.draw(path, waited, totals, classes, [(20.0, "worker-1 killed with SIGKILL")])

    drawn = first.read_text()
    assert drawn == second.read_text()
    assert "worker-1 killed with SIGKILL" in drawn
    assert len(drawn) < 600_000
    assert str(Path.home()) not in drawn
    assert "<dc:date>" not in drawn
