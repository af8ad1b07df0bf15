"""Arguments that are misspelt, of a wrong type or missing."""

import psycopg
from sqlalchemy import create_engine

import fairlead


def order(connection: psycopg.Connection) -> None:
    """Be wrong in each line."""
    fairlead.enqueue(connection, 5)  # refused
    fairlead.enqueue(connection, "a", priority="high")  # refused
    fairlead.enqueue(connection, "a", prioritty=1)  # refused
    fairlead.enqueue(connection, "a", {}, "slow")  # refused
    fairlead.enqueue("postgresql://", "a")  # refused
    fairlead.enqueue(create_engine("postgresql://"), "a")  # refused
    fairlead.enqueue_many(connection, [{"kind": "a"}])  # refused
    fairlead.NewJob(payload={})  # refused
