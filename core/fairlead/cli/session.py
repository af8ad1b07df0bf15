"""The command line's one connection, and rows whose values are found by name."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from psycopg.rows import dict_row
from pydantic import ValidationError

from fairlead import sql
from fairlead.cli.problem import Problem
from fairlead.migrate import schema_state
from fairlead.settings import DatabaseSettings, explain
from fairlead.store import Connection, connect

Row = dict[str, object]

_PACKAGE = "fairlead.cli"


def settings() -> DatabaseSettings:
    """Return where the database is.

    Raises:
        Problem: a setting is wrong.
    """
    try:
        return DatabaseSettings()
    except ValidationError as error:
        raise Problem(explain(error)) from None


@contextmanager
def reached() -> Generator[Connection]:
    """Connect, whatever schema there is.

    Raises:
        Unreachable: with one sentence that says why.
    """
    with connect(settings(), name="cli") as connection:
        yield connection


@contextmanager
def session() -> Generator[Connection]:
    """Connect to a database whose schema fits this code.

    Raises:
        Unreachable: with one sentence that says why.
        Problem: the schema does not fit; the sentence says what to do.
    """
    with reached() as connection:
        state = schema_state(connection)
        if not state.fits:
            raise Problem(state.sentence())
        yield connection


def ask(
    connection: Connection, name: str, parameters: Mapping[str, object] | None = None
) -> list[Row]:
    """Run one statement of `fairlead/cli/sql` and return its rows by column name."""
    with connection.cursor(row_factory=dict_row) as cursor:
        cursor.execute(sql.load(_PACKAGE, name), parameters)
        return cursor.fetchall()
