"""Literals of every depth."""

import psycopg

import fairlead


def order(connection: psycopg.Connection, *, fast: bool) -> None:
    """Enqueue them."""
    fairlead.enqueue(connection, "a")
    fairlead.enqueue(connection, "a", None)
    fairlead.enqueue(connection, "a", "text")
    fairlead.enqueue(connection, "a", 5 if fast else 0.5)
    fairlead.enqueue(connection, "a", [1, None, "b", {"c": [True, {"d": ()}]}])
    fairlead.enqueue(connection, "a", {"a": 1, "b": [1, 2.5, None], "c": {"d": {"e": []}}})
    fairlead.enqueue(connection, "a", {each: len(each) for each in ("a", "b")})
