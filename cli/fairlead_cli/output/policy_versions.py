"""Stored versions of the policy, as they are said to people."""

from typing import TYPE_CHECKING

from fairlead.inspection import formats
from fairlead.inspection.rows import Row
from fairlead_cli.errors import NegativeAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from fairlead.db.connect import Connection
    from fairlead.policy_storage import Version

NONE = (
    "no policy is stored: every tenant has weight 1 and no limit "
    "(`fairlead policy apply FILE` stores one)"
)


def latest(connection: "Connection") -> "tuple[Version | None, Version | None]":
    """Return the version in force, and the one that was stored last."""
    from fairlead import policy_storage

    return policy_storage.in_force(connection), policy_storage.newest(connection)


def numbered(connection: "Connection", version: int) -> "Version":
    """Return a version by its number.

    Raises:
        NegativeAnswer: there is none.
    """
    from fairlead import policy_storage

    found = policy_storage.numbered(connection, version)
    if found is None:
        raise NegativeAnswer(
            f"policy version {version} is unknown: see `fairlead policy history`"
        )
    return found


def state(one: "Version", in_force: "Version | None") -> str:
    """Say whether a version is the one in force."""
    return "in force" if one == in_force else "not in force"


def named(one: "Version | None") -> Row | None:
    """Return which version it is, for programs."""
    return None if one is None else {"version": one.version, "digest": one.digest}


def sentences(
    in_force: "Version | None", newest: "Version | None", *, now: "datetime"
) -> "Iterator[str]":
    """Say which version is in force, and whether a newer one is stored."""
    if in_force is not None:
        age = formats.since(in_force.stored_at, now=now)
        by = formats.printable(in_force.author)
        yield (
            f"policy version {in_force.version}, digest {in_force.digest}, in force; "
            f"stored {age} ago by {by}"
        )
    if said := later(newest, in_force):
        yield said


def later(newest: "Version | None", in_force: "Version | None") -> str:
    """Say that a newer version is stored than the one in force; '' when none is."""
    if newest is None or newest == in_force:
        return ""
    return (
        f"version {newest.version} is stored, and no leader has it in force: see "
        "`fairlead policy history`"
    )
