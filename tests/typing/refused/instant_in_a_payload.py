"""JSON has no instants."""

from datetime import UTC, datetime

import psycopg

import fairlead


def order(connection: psycopg.Connection) -> None:
    """Give one."""
    fairlead.enqueue(connection, "a", {"at": datetime.now(UTC)})  # refused
