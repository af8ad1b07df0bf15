"""Tuples, and what a function takes as a Sequence or a Mapping."""

from collections.abc import Mapping, Sequence

import psycopg

import fairlead


def order(
    connection: psycopg.Connection,
    pair: tuple[int, str],
    names: Sequence[str],
    weights: Mapping[str, float | None],
) -> None:
    """Enqueue each."""
    fairlead.enqueue(connection, "a", pair)
    fairlead.enqueue(connection, "a", names)
    fairlead.enqueue(connection, "a", weights)
    fairlead.enqueue(connection, "a", {"pair": pair, "names": names, "weights": weights})
    fairlead.enqueue(connection, "a", (pair, names, tuple(names)))
