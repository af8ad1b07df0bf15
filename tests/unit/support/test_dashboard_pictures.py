"""What a picture of a dashboard says of a value, and what is asked for it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PIL import Image

from docs.generate.dashboards import BOARDS
from docs.generate.dashboards.answers import Line, filled, legend, torn
from docs.generate.dashboards.draw import FOLDER, PANELS_KEY, Window, draw, of_panels
from docs.generate.dashboards.parts import Board, Look, Panel, Query, Row, bad_above, bad_below
from docs.generate.dashboards.shown import coloured, measure, worded

_COLOURS = {name: coloured(((None, name),), 0) for name in ("green", "orange", "red")}


@pytest.mark.parametrize(
    ("value", "unit", "decimals", "words"),
    [
        (0.0005, "s", None, "0.0005 s"),
        (0.25, "s", None, "250 ms"),
        (90, "s", None, "1.5 min"),
        (172_800, "s", None, "2 d"),
        (0.987, "percentunit", None, "98.7 %"),
        (0.987, "percentunit", 0, "99 %"),
        (12_500, "ops", None, "12.5 k/s"),
        (3, "cpm", None, "3/min"),
        (1536, "bytes", None, "1.5 KiB"),
        (0, "short", None, "0"),
        (-2_000_000, "short", None, "-2 M"),
    ],
)
def test_a_value_is_told_in_its_unit(
    value: float, unit: str, decimals: int | None, words: str
) -> None:
    """As short as it can be written."""
    assert words == worded(value, unit, decimals)


@pytest.mark.parametrize(
    ("value", "unit", "size"),
    [
        (90, "s", 60),
        (0.02, "s", 0.001),
        (0, "s", 1),
        (3 << 20, "bytes", 1 << 20),
        (0, "bytes", 1),
        (12_500, "ops", 1000),
        (0.5, "ops", 1),
        (0.3, "percentunit", 0.01),
    ],
)
def test_an_axis_is_divided_in_the_unit_in_which_its_values_are_told(
    value: float, unit: str, size: float
) -> None:
    """Round figures of minutes, not of seconds that are shown as minutes."""
    assert size == measure(value, unit)


@pytest.mark.parametrize(
    ("value", "high_is_bad", "low_is_bad"),
    [
        (0, "green", "red"),
        (0.5, "green", "orange"),
        (1, "orange", "green"),
        (5, "red", "green"),
    ],
)
def test_a_colour_holds_from_its_step_on(
    value: float, high_is_bad: str, low_is_bad: str
) -> None:
    """The step itself belongs to the colour that begins there."""
    assert _COLOURS[high_is_bad] == coloured(bad_above(1, 5), value)
    assert _COLOURS[low_is_bad] == coloured(bad_below(1, 0.5), value)


def test_no_value_and_no_steps_have_colours_of_their_own() -> None:
    """Neither looks green."""
    assert _COLOURS["green"] not in {coloured(bad_above(1, 5), None), coloured((), 3)}


def test_a_query_is_asked_with_what_its_variables_stand_for() -> None:
    """Both ways to write a variable; one without a value is a mistake."""
    values = {"queue": ".*", "__range": "5m"}

    assert 'increase(x{queue=~".*"}[5m])' == filled(
        'increase(x{queue=~"${queue}"}[$__range])', values
    )
    with pytest.raises(KeyError, match="pool"):
        filled('x{pool=~"$pool"}', values)


def test_a_series_is_called_by_its_labels() -> None:
    """A label that it lacks is nothing."""
    assert "acme in mail" == legend(
        "{{tenant}} in {{queue}}", {"tenant": "acme", "queue": "mail"}
    )
    assert "in" == legend("{{tenant}} in {{queue}}", {})


def test_no_line_leads_across_what_is_missing() -> None:
    """A point that is no number stands where one or more were not answered."""
    assert ((0, 1), (5, 2)) == torn(((0, 1), (5, 2)), 5)
    (first, gap, last) = torn(((0, 1), (15, 2)), 5)
    assert ((0, 1), 5, (15, 2)) == (first, gap[0], last)
    assert math.isnan(gap[1])


@dataclass(frozen=True, slots=True)
class Known(Window):
    """A time of which the answers are known."""

    answers: Mapping[str, tuple[Line, ...]] = field(default_factory=dict[str, tuple[Line, ...]])

    def ask(self, panel: Panel) -> tuple[Line, ...]:
        """Return the answers by the panel's title."""
        return self.answers[panel.title]


def test_a_picture_has_every_look_and_is_small(tmp_path: Path) -> None:
    """With an answer, with a gap in it, with zeros alone, and without an answer."""
    gap = Line("mail", ((0, 1), (60, 2), (180, 90), (300, 4)))
    given = {"full": (gap,), "zero": (Line("calls", ((0, 0), (300, 0))),), "none": ()}
    rows = tuple(
        Row(
            look.name,
            tuple(
                Panel(
                    title=title,
                    about="",
                    act="",
                    unit="s",
                    queries=(Query("x", ""),),
                    look=look,
                )
                for title in given
            ),
        )
        for look in Look
    )
    board = Board(uid="b", title="B", about="", choices=(), events=(), rows=rows)
    first, second = tmp_path / "first.png", tmp_path / "second.png"

    for path in (first, second):
        draw(path, board, Known("", 0, 300, {}, given))

    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size < 100_000
    with Image.open(first) as picture:
        assert "P" == picture.mode


@pytest.mark.parametrize("name", BOARDS)
def test_a_picture_of_the_docs_is_of_the_panels_that_there_are(name: str) -> None:
    """Where not, `python -m docs.generate.dashboards.pictures` draws all of them anew."""
    with Image.open(FOLDER / f"dashboard-{name}.png") as picture:
        assert of_panels(BOARDS[name]) == picture.info.get(PANELS_KEY, "nothing says of which")
