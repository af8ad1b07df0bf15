"""Stored versions of the policy: the one in force, the newest, or one by its number.

What the documents say is not read here, so that a command that only asks which version is in
force is quick.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from fairlead import sql
from fairlead.store import Connection

_PACKAGE = "fairlead"


@dataclass(frozen=True, slots=True)
class Version:
    """A stored document, and who stored it when and why."""

    version: int
    digest: str
    author: str
    reason: str
    stored_at: datetime
    document: str


def in_force(connection: Connection) -> Version | None:
    """Return the version that is in force, as far as leaders have said so.

    None: no leader has, or the last one has refused what the one before it had in force.
    """
    return _read(connection, "policy_in_force")


def followed(connection: Connection) -> Version | None:
    """Return the newest version that no leader has refused; None: there is none.

    It is the one in force, or a newer one that the next look of a leader puts in force: what
    an edit of the policy begins with.
    """
    return _read(connection, "policy_followed")


def newest(connection: Connection) -> Version | None:
    """Return the version that was stored last; None: no policy was ever stored."""
    return _read(connection, "policy_version", {"version": None})


def numbered(connection: Connection, version: int) -> Version | None:
    """Return the version of this number; None: there is none."""
    return _read(connection, "policy_version", {"version": version})


def _read(
    connection: Connection, name: str, values: Mapping[str, object] | None = None
) -> Version | None:
    with connection.cursor(row_factory=class_row(Version)) as cursor:
        return cursor.execute(sql.load(_PACKAGE, name), values).fetchone()
