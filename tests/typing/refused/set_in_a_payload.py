"""JSON has no sets."""

import psycopg

import fairlead


def order(connection: psycopg.Connection, names: set[str]) -> None:
    """Give one."""
    fairlead.enqueue(connection, "a", {"names": names})  # refused
