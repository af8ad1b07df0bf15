"""Rows whose values are found by name.

psycopg takes longer to import than most commands take to run, so it is imported by the first
question.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fairlead.db import statements

if TYPE_CHECKING:
    from fairlead.db.connect import Connection

Row = dict[str, object]

_PACKAGE = "fairlead.inspection"


def ask(
    connection: "Connection", name: str, parameters: Mapping[str, object] | None = None
) -> list[Row]:
    """Run one statement of this package and return its rows by column name."""
    from psycopg.rows import dict_row

    with connection.cursor(row_factory=dict_row) as cursor:
        cursor.execute(statements.load(_PACKAGE, name), parameters)
        return cursor.fetchall()
