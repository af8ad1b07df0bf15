"""A JSON value of any depth is read and printed, as itself or as its text."""

import json

import pytest

from fairlead.inspection import clamped
from fairlead_cli.output import tables


def nested(levels: int) -> str:
    """Return so many lists within each other, with an object in the innermost but one."""
    return '[{"a": ' * (levels // 2) + "[]" * (levels % 2) + "}]" * (levels // 2)


@pytest.mark.parametrize("levels", [501, 701, 5_001, 100_001])
def test_what_is_nested_too_deep_is_printed_as_its_text(
    levels: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever this Python can read: `json.dumps` indents no more than its limit for calls."""
    text = nested(levels)

    tables.print_json({"payload": clamped.loads(text.encode())})

    assert {"payload": text} == json.loads(capsys.readouterr().out)


def test_what_is_not_too_deep_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Up to five hundred levels."""
    value = clamped.loads(nested(499))

    tables.print_json(value)

    assert isinstance(value, list)
    assert value == json.loads(capsys.readouterr().out)
