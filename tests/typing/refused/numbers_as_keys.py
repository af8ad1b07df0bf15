"""Keys of JSON are text: numbers would not come back as numbers."""

import psycopg

import fairlead


def order(connection: psycopg.Connection, names: dict[int, str]) -> None:
    """Give numbers."""
    fairlead.enqueue(connection, "a", names)  # refused
