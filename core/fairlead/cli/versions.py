"""Stored versions of the policy: the one in force, the newest, or one by its number."""

from typing import TYPE_CHECKING

from fairlead.cli.problem import Failure
from fairlead.cli.session import Row, ask

if TYPE_CHECKING:
    from fairlead.store import Connection

NONE = (
    "no policy is stored: every queue has weight 1 and no limit "
    "(`fairlead policy apply FILE` stores one)"
)


def in_force(connection: "Connection") -> Row | None:
    """Return the version that is in force, as far as leaders have said so."""
    return next(iter(ask(connection, "in_force")), None)


def newest(connection: "Connection") -> Row | None:
    """Return the version that was stored last."""
    return next(iter(ask(connection, "policy_version", {"version": None})), None)


def numbered(connection: "Connection", version: int) -> Row:
    """Return a version by its number.

    Raises:
        Failure: there is none.
    """
    for row in ask(connection, "policy_version", {"version": version}):
        return row
    raise Failure(f"policy version {version} is unknown: see `fairlead policy history`")


def state(row: Row, ruling: Row | None) -> str:
    """Say whether a version is the one in force."""
    rules = ruling is not None and row["version"] == ruling["version"]
    return "in force" if rules else "not in force"


def later(newest: Row | None, ruling: Row | None) -> str:
    """Say that a newer version is stored than the one in force; '' when none is."""
    if newest is None or (ruling is not None and newest["version"] == ruling["version"]):
        return ""
    return (
        f"version {newest['version']} is stored, and no leader has it in force: see "
        "`fairlead policy history`"
    )
