"""JSON has no bytes."""

import psycopg

import fairlead


def order(connection: psycopg.Connection, document: bytes) -> None:
    """Give some."""
    fairlead.enqueue(connection, "a", document)  # refused
