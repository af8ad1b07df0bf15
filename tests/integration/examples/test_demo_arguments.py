"""The demo refuses at its start what would fail at its end."""

import sys

import pytest
from typer.testing import CliRunner

from examples.demo.__main__ import app


@pytest.mark.parametrize(
    ("plot", "says"),
    [
        ("picture.txt", "'picture.txt' must end with .svg or .png"),
        ("/nowhere/picture.svg", "the folder of '/nowhere/picture.svg' does not exist"),
    ],
)
def test_a_picture_that_cannot_be_written_is_refused(plot: str, says: str) -> None:
    """Before a database is started."""
    done = CliRunner().invoke(app, ["--plot", plot])

    assert (2, True) == (done.exit_code, says in done.stderr)


def test_the_demo_needs_the_library_that_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """The picture is drawn at the end, and the library is looked for at the beginning."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    done = CliRunner().invoke(app, ["--plot", "picture.svg"])

    assert (2, True) == (done.exit_code, "pip install 'fairlead[plot]'" in done.stderr)
