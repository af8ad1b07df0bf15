"""What a picture of a dashboard says of a value, and what is asked for it."""

import pytest

from docs.generate.dashboards.answers import filled, legend
from docs.generate.dashboards.parts import bad_above, bad_below
from docs.generate.dashboards.shown import coloured, worded

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
    """As short as it can be told."""
    assert words == worded(value, unit, decimals)


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
