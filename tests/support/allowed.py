"""What a login may do to each table and sequence: found by trying, in the words of a list."""

from collections.abc import Iterator
from typing import Final

from psycopg import Connection
from psycopg.rows import TupleRow

from tests.support.attacks import Attacker, relations

_WEAK: Final = ("ACCESS SHARE", "ROW SHARE", "ROW EXCLUSIVE")
"""Which conflict with what migrations and the dropping of partitions take alone."""
_STRONG: Final = (
    "SHARE UPDATE EXCLUSIVE",
    "SHARE",
    "SHARE ROW EXCLUSIVE",
    "EXCLUSIVE",
    "ACCESS EXCLUSIVE",
)
_COLUMNS = """
    SELECT a.attname::text FROM pg_attribute a
    WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attname
"""
_READ_ONLY: Final = ("42501", "42809", "55000")
"""Want of privilege, an object of another kind, a view that cannot be written."""


def allowed(superuser: Connection[TupleRow], by: Attacker) -> Iterator[str]:
    """Yield what a login may write and lock, like `UPDATE pod_drains (epoch, pool)`.

    `LOCK` is in any mode that two sessions cannot both hold, `LOCK WEAKLY` in any other one
    but ACCESS SHARE, which SELECT takes too.
    """
    for name, kind in relations(superuser):
        called = name.removeprefix("fairlead.")
        if kind == "S":
            yield from _of_sequence(by, name, called)
        else:
            yield from _of_table(superuser, by, name, called)


def _of_sequence(by: Attacker, name: str, called: str) -> Iterator[str]:
    for function, call in (("nextval", f"'{name}'"), ("setval", f"'{name}', 1")):
        if _may(by, f"SELECT {function}({call})"):
            yield f"{function} {called}"


def _of_table(
    superuser: Connection[TupleRow], by: Attacker, name: str, called: str
) -> Iterator[str]:
    if any(_may(by, f"LOCK TABLE {name} IN {mode} MODE") for mode in _STRONG):
        yield f"LOCK {called}"
    elif any(_may(by, f"LOCK TABLE {name} IN {mode} MODE") for mode in _WEAK[1:]):
        yield f"LOCK WEAKLY {called}"
    if _may(by, f"INSERT INTO {name} DEFAULT VALUES"):
        yield f"INSERT {called}"
    columns = [str(row[0]) for row in superuser.execute(_COLUMNS, [name]).fetchall()]
    may = [
        each for each in columns if _may(by, f"UPDATE {name} SET {each} = DEFAULT WHERE false")
    ]
    if may:
        yield f"UPDATE {called}" if may == columns else f"UPDATE {called} ({', '.join(may)})"
    if _may(by, f"DELETE FROM {name} WHERE false"):
        yield f"DELETE {called}"
    if _may(by, f"TRUNCATE {name}"):
        yield f"TRUNCATE {called}"


def _may(by: Attacker, attempt: str) -> bool:
    """Return whether the login has the right, whatever else stands in the statement's way."""
    return by.refused(attempt) not in _READ_ONLY
