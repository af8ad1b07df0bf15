"""What tests on a server may ask for beside the databases: the command line and programs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_cli.main import run
from tests.chaos import fleet as programs
from tests.chaos.fleet import Fleet
from tests.conftest import Background, Connect
from tests.support import child_app
from tests.support.children import RunningChild, child, register
from tests.support.controlling import Scene, staged
from tests.support.logins import LogIn
from tests.support.programs import forked
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
def running(database_url: str, db: Connection[TupleRow]) -> Iterator[RunningChild]:
    """Yield a child that claims, with four slots."""
    db.execute("CREATE TABLE seen (at serial, what text)")
    with child(database_url, register(db, releases_slots=True)) as started:
        yield started


@pytest.fixture
def lock(connect: Connect) -> Connection[TupleRow]:
    """Return the connection for which some handlers wait until it is closed."""
    holder = connect()
    holder.execute(child_app.HOLD)
    return holder


@pytest.fixture
def fleet(database_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """Yield a fleet without a program; those that it starts are forked."""
    with programs.fleet(database_url, tmp_path, starts=forked) as made:
        yield made


@pytest.fixture
def scene(db: Connection[TupleRow], database_url: str, log_in: LogIn) -> Iterator[Scene]:
    """Yield a scene of the controller with a policy and a Deployment without pods."""
    with staged(db, database_url, log_in) as made:
        yield made


@pytest.fixture
def outwait(db: Database, background: Background) -> Outwait:
    """Return a function that makes a call which waits until a holder commits."""

    def make_it_wait(call: Callable[[], T], *, waiting: Database, holder: Database) -> T:
        called = background(call)
        assert halted(db, waiting, called)
        holder.commit()
        return called.result()

    return make_it_wait
