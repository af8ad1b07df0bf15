"""Dicts and lists whose values are of one type."""

from collections import Counter

import psycopg

import fairlead


def order(connection: psycopg.Connection, words: list[str]) -> None:
    """Enqueue what was counted, and the words themselves."""
    counts: dict[str, int] = {"all": len(words)}
    fairlead.enqueue(connection, "count", counts)
    fairlead.enqueue(connection, "count", Counter(words))
    fairlead.enqueue(connection, "count", words)
    fairlead.enqueue(connection, "count", {"words": words, "counts": counts, "ratio": 0.5})
