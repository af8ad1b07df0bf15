"""What enqueue raises, and what it returns."""

import psycopg
from psycopg.rows import DictRow

import fairlead


def order(connection: psycopg.Connection[DictRow]) -> str:
    """Say what became of it, over a connection whose rows are dicts."""
    try:
        found = fairlead.enqueue(connection, "a", dedup_key="b", expires_at=None)
    except fairlead.OverBacklog as error:
        return str(error)
    return "there is one" if found is None else f"job {found:,}"
