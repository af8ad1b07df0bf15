"""Headers are JSON too."""

import psycopg

import fairlead


def order(connection: psycopg.Connection, headers: dict[str, bytes]) -> None:
    """Give what a web framework has."""
    fairlead.enqueue(connection, "a", headers=headers)  # refused
