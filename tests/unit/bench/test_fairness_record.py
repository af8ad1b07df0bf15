"""The page of results: some scenes are recorded without the others."""

from dataclasses import replace

import pytest

from bench.fairness.arguments import arguments
from bench.fairness.results.figures import Figures
from bench.fairness.results.outcome import Outcome
from bench.fairness.results.record import PAGE, part_of, with_scenes
from bench.fairness.results.report import Run
from bench.fairness.traffic.workload import FOLDER, load
from tests.support.outcomes import MACHINE

RUN = Run(form="quick", seeds=(1,), machine=MACHINE, seconds=60, postgres="18.3")
AGAIN = replace(RUN, machine=replace(MACHINE, commit="def"))


def floods(quiet_p99_seconds: float) -> Outcome:
    """Return what floods might have led to."""
    figures = {"quiet_p99_over_without": quiet_p99_seconds / 0.1, "leader_mib": 50.0}
    return Outcome(
        name="FLOODS",
        workload=load(FOLDER / "FLOODS.toml"),
        seed=1,
        jobs=0,
        measured={"one flood": {"quiet_p99_seconds": quiet_p99_seconds}},
        evaluated={"on PostgreSQL": figures},
    )


def test_scenes_replace_their_own_rows_and_say_with_what_they_were_measured() -> None:
    """As often as they are recorded, and nothing else on the page changes."""
    page = PAGE.read_text(encoding="utf-8")

    text = with_scenes(with_scenes(page, [[floods(0.5)]], RUN), [[floods(0.2)]], AGAIN)

    table, figures = part_of(text, "the table"), part_of(text, "attacks")
    assert "FLOODS: The quick form, seed 1, commit def, 2026-01-01." in table
    assert "commit abc" not in table
    assert 1 == table.count("| quiet p99 over without | ≤ 3 | - | 2.0000 | met |")
    assert 2 == table.count("| FLOODS | ")
    assert 1 == figures.count("**FLOODS**: ")
    assert "| one flood | - | 0.200 s |" in figures
    assert rest(page) == rest(text)


def test_rows_have_their_numbers_in_the_list_of_attacks() -> None:
    """A reader goes from one to the other."""
    workload = load(FOLDER / "HANDLERS.toml")
    rows: dict[str, Figures] = {"empty jobs": {"share": 0.9}, "another": {"share": 0.8}}
    outcome = replace(floods(0.5), name="HANDLERS", workload=workload, measured=rows)

    figures = part_of(with_scenes(PAGE.read_text("utf-8"), [[outcome]], RUN), "attacks")

    assert "| no. | | before share | share |" in figures
    assert "| 16 | empty jobs | - | 0.9000 |" in figures
    assert "| - | another | - | 0.8000 |" in figures


def rest(text: str) -> list[str]:
    """Return the lines that are not about floods, in any order."""
    text = text.replace(
        part_of(text, "attacks"), part_of(text, "attacks").split("**FLOODS**")[0]
    )
    return sorted(line for line in text.splitlines() if line and "FLOODS" not in line)


def test_only_scenes_are_recorded_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    """Of all others the page has one picture."""
    assert arguments(["--record", "--only", "FLOODS,ATTACKS"], "").some
    assert not arguments(["--record"], "").some
    with pytest.raises(SystemExit):
        arguments(["--record", "--only", "FLOODS,W1"], "")

    assert "without a scene" in capsys.readouterr().err
