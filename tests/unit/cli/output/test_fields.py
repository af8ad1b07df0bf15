"""How one row is printed, a field a line."""

import pytest

from fairlead_cli.output import tables


def test_the_lines_of_an_error_stand_below_each_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A traceback can be read; what would steer the terminal is escaped in each line."""
    tables.fields(
        {"id": 7, "cancel_requested_at": None, "error": "Retry: no\n  shop.py:3\x1b[2J"}
    )

    expected = "id     7\nerror  Retry: no\n         shop.py:3\\x1b[2J\n"
    assert expected == capsys.readouterr().out
