"""Login roles for tests: made for one test, as members of Fairlead's roles or of none."""

from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from typing import LiteralString, Protocol

import psycopg
from psycopg import Connection, sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow

_numbers = count(1)


class LogIn(Protocol):
    """Opens an autocommitting connection of a new login."""

    def __call__(self, *roles: str) -> Connection[TupleRow]:
        """Make a login that is a member of the roles, and connect as it."""
        ...


@contextmanager
def login(superuser_url: str, *roles: str, options: LiteralString = "") -> Generator[str]:
    """Make a login that is a member of the roles; yield its name, and drop it at the end.

    Roles belong to the server, so what the login owns in the superuser's database, and what it
    was granted there, goes with it.
    """
    name = f"login_{next(_numbers)}"
    called = sql.Identifier(name)
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN " + options).format(called))
        for role in roles:
            connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(role), called))
    try:
        yield name
    finally:
        with psycopg.connect(superuser_url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP OWNED BY {}").format(called))
            connection.execute(sql.SQL("DROP ROLE {}").format(called))


def as_login(url: str, name: str) -> str:
    """Return the URL of the same database for another login."""
    return make_conninfo(url, user=name)
