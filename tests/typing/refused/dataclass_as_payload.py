"""A dataclass is not written as JSON."""

from dataclasses import dataclass

import psycopg

import fairlead


@dataclass
class Email:
    """What to send."""

    to: str


def order(connection: psycopg.Connection) -> None:
    """Give one."""
    fairlead.enqueue(connection, "a", Email("b"))  # refused
