"""What `fairlead dev` says after it has lost its reader."""

import errno
import io
import os
from pathlib import Path

import pytest

from fairlead_cli.dev.fleet import Fleet, Program
from fairlead_cli.dev.terminal import Terminal

MANY_LINES = "for number in range(100): print(number, 'x' * 2000)"


class Closed(io.StringIO):
    """A stream whose other end is gone."""

    def __init__(self, error: int) -> None:
        super().__init__()
        self._error = error

    def write(self, _text: str) -> int:
        """Refuse, as the system does."""
        raise OSError(self._error, os.strerror(self._error))


@pytest.mark.parametrize("error", [errno.EIO, errno.EPIPE], ids=["terminal", "pipe"])
def test_a_program_goes_on_while_nobody_reads_its_lines(tmp_path: Path, error: int) -> None:
    """It would stand still at a full pipe, and `fairlead dev` could not stop it in order."""
    (tmp_path / "talkative.py").write_text(MANY_LINES)
    terminal = Terminal(Closed(error))
    fleet = Fleet(environment={}, say=terminal.of_program, folder=tmp_path)

    terminal.say("starts")
    fleet.start(Program("talkative", "talkative"))
    ended = fleet.wait(["talkative"], seconds=20)
    fleet.end(["talkative"], seconds=1)

    assert ended
