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
SLOW = """
import signal, time
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
print("begins", flush=True)
while not asked: time.sleep(0.02)
time.sleep(0.5)
print(f"asked {len(asked)} times", flush=True)
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


def test_a_renewed_program_is_started_again_when_it_has_ended(tmp_path: Path) -> None:
    """A second renewal meanwhile does not ask it again: that would hurry it."""
    (tmp_path / "slow.py").write_text(SLOW)
    said: list[str] = []
    fleet = Fleet(environment={}, say=lambda _name, line: said.append(line), folder=tmp_path)
    fleet.start(Program("slow", "slow"))
    until(lambda: said == ["begins"], what="a program", seconds=30)

    fleet.renew(["slow"])
    fleet.renew(["slow"])
    until(lambda: fleet.revive() == ("slow",), what="its end", seconds=30)
    until(lambda: len(said) == 3, what="its return", seconds=30)

    assert ["begins", "asked 1 times", "begins"] == said
    fleet.end(fleet.names(), seconds=5)


def test_a_program_that_rests_is_there_until_it_is_renewed_or_dismissed(tmp_path: Path) -> None:
    """It is not given up, and not started by itself."""
    (tmp_path / "fails.py").write_text("raise SystemExit(2)\n")
    said: list[str] = []
    fleet = Fleet(environment={}, say=lambda _name, line: said.append(line), folder=tmp_path)
    for name in ("one", "two"):
        fleet.start(Program(name, "fails", rests=True))

    until(lambda: fleet.revive() and len(said) == 2, what="both to end", seconds=30)
    assert ((), {"one", "two"}, ()) == (fleet.revive(), set(fleet.names()), fleet.given_up)
    (tmp_path / "fails.py").write_text(WAIT)
    fleet.renew(["one"])
    fleet.dismiss("two")
    fleet.revive()

    until(lambda: len(said) == 3, what="a program", seconds=30)
    assert ("one",) == fleet.names()
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
