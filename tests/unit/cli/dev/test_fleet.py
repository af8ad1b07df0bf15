"""The fleet of local processes, which `fairlead dev` and the demo run."""

import subprocess
import sys
from pathlib import Path

import pytest

from fairlead_cli.dev import process_table
from fairlead_cli.dev.fleet import Fleet, Program
from tests.support.waiting import until

WAIT = """
import os, signal
print(os.getpid(), flush=True)
signal.pause()
"""
OWN = """
import signal
from pathlib import Path
from fairlead_cli.dev.fleet import Fleet, Program
say = lambda name, line: print(line, flush=True)
Fleet(environment={}, say=say, folder=Path.cwd()).start(Program("waits", "waits"))
signal.pause()
"""
SHOW = """
import os
print(sorted(name for name in os.environ if name.startswith("FAIRLEAD_")))
"""


def test_what_is_meant_for_one_program_does_not_reach_a_fleet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a file that names another database, nor a port that all would want."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL_FILE", "/nowhere")
    monkeypatch.setenv("FAIRLEAD_HEALTH_PORT", "8080")
    monkeypatch.delenv("FAIRLEAD_DATABASE_URL", raising=False)
    (tmp_path / "show_environment.py").write_text(SHOW)
    said: list[str] = []
    fleet = Fleet(
        environment={"FAIRLEAD_DATABASE_URL": "postgresql://127.0.0.1/fleet"},
        say=lambda _name, line: said.append(line),
        folder=tmp_path,
    )

    fleet.start(Program("show", "show_environment"))
    ended = fleet.wait(["show"], seconds=20)
    fleet.end(["show"], seconds=1)

    assert (True, ["['FAIRLEAD_DATABASE_URL']"]) == (ended, said)


def test_a_dismissed_program_is_not_started_again(tmp_path: Path) -> None:
    """One that dies is, and so is one that is asked to stop without being dismissed."""
    (tmp_path / "waits.py").write_text(WAIT)
    said: list[str] = []
    fleet = Fleet(environment={}, say=lambda name, _line: said.append(name), folder=tmp_path)
    for name in ("stays", "goes"):
        fleet.start(Program(name, "waits"))
    until(lambda: len(said) == 2, what="two programs", seconds=30)

    fleet.dismiss("goes")
    fleet.ask(["stays"])
    until(lambda: fleet.wait(["stays", "goes"], seconds=0), what="their end", seconds=30)
    there = fleet.names()
    fleet.revive()

    assert (("stays", "goes"), ("stays",)) == (there, fleet.names())
    fleet.end(fleet.names(), seconds=5)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of a parent's death")
def test_a_fleet_does_not_outlive_its_owner(tmp_path: Path) -> None:
    """Programs of a killed `fairlead dev` would work on beside those of the next one."""
    (tmp_path / "waits.py").write_text(WAIT)
    (tmp_path / "owns.py").write_text(OWN)
    owner = subprocess.Popen(
        [sys.executable, "owns.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    with owner.stdout as said:
        program = int(said.readline())
        assert process_table.is_alive(program)

        owner.kill()
        owner.wait()

    until(lambda: not process_table.is_alive(program), what="the program's end")
