"""What tests on a server may ask for beside the databases: the command line."""

from collections.abc import Callable

import pytest

from fairlead.cli.program import run

Fairlead = Callable[..., str]


@pytest.fixture
def fairlead(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Fairlead:
    """Return a function that runs a command, expects its exit code, and returns its output."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", database_url)

    def run_one(*words: str, code: int = 0) -> str:
        got = run(words)
        said = capsys.readouterr()
        assert code == got, said
        assert "Traceback" not in said.err
        return said.out if code == 0 else said.err

    return run_one
