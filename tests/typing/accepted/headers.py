"""Headers are any mapping."""

from collections.abc import Mapping

import psycopg

import fairlead


def order(
    connection: psycopg.Connection, trace: dict[str, str], more: Mapping[str, str | int]
) -> None:
    """Enqueue with each."""
    fairlead.enqueue(connection, "a", headers=trace)
    fairlead.enqueue(connection, "a", headers=more)
    fairlead.enqueue(connection, "a", headers={**trace, "tries": 2})
