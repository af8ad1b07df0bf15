"""An object may be anything."""

import psycopg

import fairlead


def order(connection: psycopg.Connection, row: dict[str, object]) -> None:
    """Give objects."""
    fairlead.enqueue(connection, "a", row)  # refused
