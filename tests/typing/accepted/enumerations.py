"""Enumerations that are text or numbers."""

from enum import IntEnum, StrEnum

import psycopg

import fairlead


class Colour(StrEnum):
    """A word."""

    RED = "red"


class Level(IntEnum):
    """A number."""

    HIGH = 2


def order(connection: psycopg.Connection, colours: dict[str, Colour]) -> None:
    """Enqueue them."""
    fairlead.enqueue(connection, "paint", Colour.RED, priority=Level.HIGH)
    fairlead.enqueue(connection, "paint", {"colour": Colour.RED, "level": Level.HIGH})
    fairlead.enqueue(connection, "paint", colours)
