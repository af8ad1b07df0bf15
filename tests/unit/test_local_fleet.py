"""The fleet of local processes, which `fairlead dev` and the demo run."""

from pathlib import Path

import pytest

from fairlead.dev.fleet import Fleet, Program

SHOW = """
import os
print(sorted(name for name in os.environ if name.startswith("FAIRLEAD_DATABASE")))
"""


def test_the_fleets_database_is_the_only_one_that_its_programs_hear_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in the environment that names another database does not reach the fleet."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL_FILE", "/nowhere")
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
