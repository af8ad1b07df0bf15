"""The examples' applications, as a login that may only enqueue."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from tests.support import tree
from tests.support.logins import as_login, login

pytestmark = pytest.mark.any_server

_JOBS = "SELECT kind, tenant, queue, priority, max_attempts FROM fairlead.jobs ORDER BY id"


@pytest.fixture
def login_url(database_url: str, db: Connection[TupleRow]) -> Iterator[str]:
    """Yield the URL of an application's login: it owns its own tables and may enqueue."""
    with login(database_url, "fairlead_enqueue") as name:
        db.execute(sql.SQL("GRANT CREATE ON SCHEMA public TO {}").format(sql.Identifier(name)))
        yield as_login(database_url, name)


@pytest.mark.parametrize(
    "commands",
    [
        ["plain/shop.py alice 30"],
        ["sqlalchemy_app/shop.py alice 30"],
        [
            "django_app/manage.py migrate --run-syncdb",
            "django_app/manage.py place_order alice 30",
        ],
    ],
    ids=["plain", "sqlalchemy", "django"],
)
def test_an_application_needs_no_more_than_to_enqueue(
    login_url: str, db: Connection[TupleRow], commands: list[str]
) -> None:
    """Applications INSERT what they set, read back the id alone, and get the defaults."""
    for command in commands:
        program, *arguments = command.split()
        subprocess.run(
            [sys.executable, str(tree.ROOT / "examples" / program), *arguments],
            env={**os.environ, "FAIRLEAD_DATABASE_URL": login_url},
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=60,
        )

    jobs = set(db.execute(_JOBS).fetchall())
    receipt = ("shop.tasks.send_receipt", "alice", "default", -10, None)
    assert {("confirm_order", "alice", "default", 0, None)} == jobs - {receipt}
    assert ("django" in commands[0]) == (receipt in jobs)
