"""What the page on Kubernetes has an administrator run makes a server ready for a release."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from fairlead_cli.dev.postgres import Server
from tests.support import tree
from tests.support.databases import FAST, fast_folder, running_server
from tests.support.logins import as_login

PAGE = Path("docs/how-to/kubernetes.md")
_BLOCK = re.compile(r"^```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def empty() -> Iterator[Server]:
    """Yield a server without a role of ours."""
    with running_server(FAST, within=fast_folder()) as running:
        yield running


def log_in(server: Server, login: str) -> Connection[TupleRow]:
    """Connect to the page's database as one of its logins."""
    return psycopg.connect(as_login(server.url_of("app"), login), autocommit=True)


@pytest.mark.parametrize(
    "administrator", ["a superuser", "the administrator of a managed server"]
)
def test_the_pages_logins_serve_a_release_on_an_empty_server(
    empty: Server, administrator: str
) -> None:
    """The owner migrates without a warning, and each login may do its program's first step."""
    (block, *_) = _BLOCK.findall(tree.text(PAGE))
    with psycopg.connect(empty.url, autocommit=True) as superuser:
        superuser.execute("CREATE ROLE managed LOGIN CREATEROLE CREATEDB")
    who = "managed" if administrator != "a superuser" else urlsplit(empty.url).username
    assert who
    with psycopg.connect(as_login(empty.url, who), autocommit=True) as connection:
        for statement in filter(None, map(str.strip, block.split(";\n"))):
            connection.execute(statement.encode())

    said: list[str | None] = []
    with log_in(empty, "app_owner") as owner:
        owner.add_notice_handler(
            lambda notice: (
                said.append(notice.message_primary)
                if notice.severity_nonlocalized == "WARNING"
                else None
            )
        )
        migrate(owner)

    assert [] == said
    for login in ("app_scheduler", "app_worker", "app_autoscaler", "app_enqueue"):
        with log_in(empty, login) as connection:
            assert connection.execute("SELECT max(version) FROM fairlead.schema_versions")
    with log_in(empty, "app_scheduler") as scheduler:
        scheduler.execute("SELECT fairlead.make_history_partitions(40)")
    with log_in(empty, "app_enqueue") as application:
        application.execute("INSERT INTO fairlead.jobs (kind) VALUES ('hello')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            application.execute("DELETE FROM fairlead.jobs")
