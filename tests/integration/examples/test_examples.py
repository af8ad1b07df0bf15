"""The examples do what they show: an order and its job are one transaction."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from examples.sqlalchemy_app import shop
from tests.support import tree
from tests.support.children import child, register
from tests.support.dispatching import dispatch_all
from tests.support.logins import as_login, login
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

EXAMPLES = tree.ROOT / "examples"
_CONFIRMED = "SELECT customer, confirmed_at IS NOT NULL FROM {} ORDER BY id"

Run = Callable[..., str]


@pytest.fixture
def run(database_url: str, db: Connection[TupleRow]) -> Iterator[Run]:
    """Yield a function that runs one of the examples' programs, as a login that may enqueue."""

    def run_one(program: str, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, str(EXAMPLES / program), *arguments],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "FAIRLEAD_DATABASE_URL": url},
        )
        assert 0 == done.returncode, done.stderr
        return done.stdout

    with login(database_url, "fairlead_enqueue") as name:
        url = as_login(database_url, name)
        db.execute(sql.SQL("GRANT CREATE ON SCHEMA public TO {}").format(sql.Identifier(name)))
        yield run_one


def work(database_url: str, db: Connection[TupleRow], folder: str, app: str) -> None:
    """Run what is due in a worker's child."""
    dispatch_all(db)
    environment = {"PYTHONPATH": str(EXAMPLES / folder)}
    with child(database_url, register(db), app=app, environment=environment):
        until(
            lambda: db.execute("SELECT count(*) = 0 FROM fairlead.jobs").fetchone() == (True,),
            what="the end of all jobs",
        )


def endings(db: Connection[TupleRow]) -> list[tuple[object, ...]]:
    """Return how all jobs ended."""
    return db.execute(
        "SELECT tenant, outcome, result, error FROM fairlead.job_history ORDER BY id"
    ).fetchall()


def test_plain(run: Run, database_url: str, db: Connection[TupleRow]) -> None:
    """Psycopg alone."""
    assert "order 1 is placed\n" == run("plain/shop.py", "alice", "30")

    work(database_url, db, "plain", "shop:tasks")

    assert [("alice", True)] == db.execute(_CONFIRMED.format("orders").encode()).fetchall()
    assert [("alice", "succeeded", {"confirmed": 1}, None)] == endings(db)


def test_sqlalchemy(run: Run, database_url: str, db: Connection[TupleRow]) -> None:
    """Jobs are mapped, and join the session's transaction."""
    assert "order 1 is placed\n" == run("sqlalchemy_app/shop.py", "alice", "30")

    work(database_url, db, "sqlalchemy_app", "shop:tasks")

    assert [("alice", True)] == db.execute(_CONFIRMED.format("orders").encode()).fetchall()
    assert [("alice", "succeeded", {"confirmed": 1}, None)] == endings(db)


def test_sqlalchemys_tables_are_the_applications_own() -> None:
    """`create_all` and Alembic see no table of the schema fairlead."""
    assert ["orders"] == list(shop.Base.metadata.tables)
    assert ["fairlead.jobs"] == list(shop.FairleadBase.metadata.tables)


def test_django(run: Run, database_url: str, db: Connection[TupleRow]) -> None:
    """Jobs are a model, and join the atomic block; a dedup key holds; a task runs."""
    run("django_app/manage.py", "migrate", "--run-syncdb")
    placed = run("django_app/manage.py", "place_order", "alice", "30")
    assert "order 1 is placed\n" == placed

    work(database_url, db, "django_app", "shop.jobs:tasks")

    assert [("alice", True)] == db.execute(_CONFIRMED.format("shop_order").encode()).fetchall()
    assert [
        *[("alice", "succeeded", {"confirmed": 1}, None)] * 2,
        ("alice", "succeeded", {"receipt": "30.00 from alice"}, None),
    ] == endings(db)


def test_every_example_is_tried() -> None:
    """No folder of examples is without a test."""
    folders = {path.parts[1] for path in tree.files(".py") if path.parts[0] == "examples"}

    reports = {"report_generator", "report_generator_django"}  # in test_report_generator
    assert {"plain", "sqlalchemy_app", "django_app", "demo"} | reports == folders
    assert Path("examples/plain/shop.py") in tree.files(".py")
