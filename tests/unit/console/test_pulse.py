"""How often browsers are told of changes."""

import pytest

from fairlead_console.reads.pulse import rest_seconds


@pytest.mark.parametrize(
    ("spent_seconds", "rest"), [(0.0, 2.0), (0.005, 2.0), (0.05, 10.0), (9.0, 60.0)]
)
def test_pages_that_cost_more_are_asked_for_less_often(
    spent_seconds: float, rest: float
) -> None:
    """One part in 200 of the time; never oftener than in two seconds, never less than in 60."""
    assert rest == pytest.approx(rest_seconds(spent_seconds))
