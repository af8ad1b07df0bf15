"""What tests on a server may ask for beside the databases: the command line."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from fairlead.cli.program import run
from tests.conftest import Background
from tests.support.race import Database, Outwait, halted

T = TypeVar("T")
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


@pytest.fixture
def outwait(db: Database, background: Background) -> Outwait:
    """Return a function that makes a call which waits until a holder commits."""

    def make_it_wait(call: Callable[[], T], *, waiting: Database, holder: Database) -> T:
        called = background(call)
        assert halted(db, waiting, called)
        holder.commit()
        return called.result()

    return make_it_wait
