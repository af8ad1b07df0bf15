"""An installer that owns its database and is no superuser: what it arranges and says."""

from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
import pytest
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate, migrations
from fairlead_cli.dev.postgres import Server
from tests.support.databases import FAST, fast_folder, running_server
from tests.support.logins import as_login

ROLES = ("admin", "autoscaler", "enqueue", "reader", "scheduler", "viewer", "worker")
_HISTORY_OWNERS = """
    SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_partition_tree('fairlead.job_history')
    JOIN pg_class ON oid = relid
"""
_ENDING = """
    SELECT fairlead._end_jobs(array_agg(id), array_agg('succeeded'::text)) FROM fairlead.jobs
"""


@pytest.fixture(scope="module")
def bare() -> Iterator[Server]:
    """Yield a server that is this module's alone, since roles belong to a server."""
    with running_server(FAST, within=fast_folder()) as running:
        yield running


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """Yield a stack that closes what a test opens."""
    with ExitStack() as stack:
        yield stack


def owner(server: Server, name: str, opened: ExitStack, *options: str) -> Connection[TupleRow]:
    """Make a login that owns a database of its name, and connect as it."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN {' '.join(options)}".encode())
        connection.execute(
            sql.SQL("CREATE DATABASE {0} OWNER {0}").format(sql.Identifier(name))
        )
    url = as_login(server.url_of(name), name)
    return opened.enter_context(psycopg.connect(url, autocommit=True))


def warnings(connection: Connection[TupleRow]) -> list[str]:
    """Return a list that the server's warnings will come into."""
    said: list[str] = []

    def hear(notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            said.append(f"{notice.message_primary} {notice.message_hint}")

    connection.add_notice_handler(hear)
    return said


def works(connection: Connection[TupleRow]) -> bool:
    """Tell whether a job can be inserted, ended and read."""
    job = connection.execute(
        "INSERT INTO fairlead.jobs (kind) VALUES ('k') RETURNING id"
    ).fetchone()
    connection.execute(_ENDING)
    state = connection.execute(
        "SELECT state FROM fairlead.job_status WHERE id = %s", job
    ).fetchone()
    return state == ("succeeded",)


def test_an_owner_that_may_not_make_roles_is_told_and_can_work_alone(
    opened: ExitStack,
) -> None:
    """Everything is installed; the roles that are missing are named in one sentence."""
    untouched = opened.enter_context(running_server(FAST, within=fast_folder()))
    plain = owner(untouched, "plain", opened)
    said = warnings(plain)

    ran = migrate(plain)

    assert len(migrations()) == len(ran)
    assert 1 == len(said)
    assert all(f"fairlead_{role}" in said[0] for role in ROLES)
    assert works(plain)


def test_an_owner_that_may_make_roles_arranges_everything(
    bare: Server, opened: ExitStack
) -> None:
    """It makes the roles, and everything stays its own."""
    maker = owner(bare, "maker", opened, "CREATEROLE")
    said = warnings(maker)

    migrate(maker, rls=True)
    again = migrate(maker)

    assert () == again
    assert [] == said
    assert [("maker",)] == maker.execute(_HISTORY_OWNERS).fetchall()
    assert works(maker)


def test_an_owner_learns_how_to_take_the_history_back(bare: Server, opened: ExitStack) -> None:
    """An earlier version gave it to the scheduler's role; what that needs is said."""
    with psycopg.connect(bare.url, autocommit=True) as administrator:
        migrate(administrator)
        late = owner(bare, "late", opened)
        said = warnings(late)
        migrate(late)
        assert [] == said
        with psycopg.connect(bare.url_of("late"), autocommit=True) as giver:
            giver.execute("ALTER TABLE fairlead.job_history OWNER TO fairlead_scheduler")

        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="to late"):
            migrate(late)

        administrator.execute("GRANT fairlead_scheduler TO late")
        migrate(late)

    assert [] == said
    assert [("late",)] == late.execute(_HISTORY_OWNERS).fetchall()
    assert works(late)


def test_an_owner_of_the_schema_alone_may_migrate(bare: Server, opened: ExitStack) -> None:
    """A schema that an administrator made for it is enough."""
    with psycopg.connect(bare.url, autocommit=True) as administrator:
        administrator.execute("CREATE ROLE tenantless LOGIN")
        administrator.execute("CREATE DATABASE shared")
    with psycopg.connect(bare.url_of("shared"), autocommit=True) as administrator:
        administrator.execute("CREATE SCHEMA fairlead AUTHORIZATION tenantless")
    url = as_login(bare.url_of("shared"), "tenantless")
    guest = opened.enter_context(psycopg.connect(url, autocommit=True))

    migrate(guest)

    assert works(guest)
