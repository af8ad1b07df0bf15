"""The command line's one connection, and rows whose values are found by name.

psycopg and pydantic take longer to import than most commands take to run. So no module of the
command line imports them, or rich, before a command needs them.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fairlead.db import statements
from fairlead.inspection.rows import Row
from fairlead_cli.errors import CommandError

if TYPE_CHECKING:
    from fairlead.db.connect import Connection
    from fairlead.settings import DatabaseSettings

_PACKAGE = "fairlead_cli"


def settings() -> "DatabaseSettings":
    """Return where the database is.

    Raises:
        CommandError: a setting is wrong.
    """
    from pydantic import ValidationError

    from fairlead.settings import DatabaseSettings, explain

    try:
        return DatabaseSettings()
    except ValidationError as error:
        raise CommandError(explain(error)) from None


@contextmanager
def reached() -> "Generator[Connection]":
    """Connect, whatever schema there is.

    Raises:
        Unreachable: with one sentence that says why.
    """
    from fairlead.db.connect import connect
    from fairlead.inspection import clamped

    with connect(settings(), name="cli") as connection:
        clamped.register(connection)
        yield connection


@contextmanager
def session() -> "Generator[Connection]":
    """Connect to a database whose schema fits this code.

    Raises:
        Unreachable: with one sentence that says why.
        CommandError: the schema does not fit; the sentence says what to do.
    """
    from fairlead.db.migrate import schema_state

    with reached() as connection:
        state = schema_state(connection)
        if not state.fits:
            raise CommandError(state.sentence())
        yield connection


@contextmanager
def acting(connection: "Connection", actor: str | None, reason: str = "") -> "Generator[None]":
    """Run what is inside in one transaction, which the audit log ascribes to a person.

    Args:
        connection: of this command.
        actor: who it is; None: the user of the machine who runs the command.
        reason: why, for the audit log.
    """
    with connection.transaction():
        ask(connection, "act_as", {"actor": actor or user() or "", "reason": reason})
        yield


def user() -> str | None:
    """Return the name of the user who runs the command, if the machine has one."""
    from getpass import getuser

    try:
        return getuser()
    except (OSError, KeyError):  # a container's user need not have a name
        return None


def ask(
    connection: "Connection", name: str, parameters: Mapping[str, object] | None = None
) -> list[Row]:
    """Run one statement of `fairlead/cli/sql` and return its rows by column name."""
    from psycopg.rows import dict_row

    with connection.cursor(row_factory=dict_row) as cursor:
        cursor.execute(statements.load(_PACKAGE, name), parameters)
        return cursor.fetchall()
