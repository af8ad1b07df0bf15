"""The fleet of local processes, which `fairlead dev` and the demo run."""

from pathlib import Path

import pytest

from fairlead.dev.fleet import Fleet, Program

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
