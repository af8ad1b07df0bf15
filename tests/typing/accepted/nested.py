"""TypedDicts in lists, dicts and each other."""

from typing import NotRequired, TypedDict

import psycopg

import fairlead


class Item(TypedDict):
    """A line of an order."""

    article: int
    note: NotRequired[str]


class Order(TypedDict):
    """An order."""

    customer: str
    items: list[Item]


def order(connection: psycopg.Connection, orders: list[Order], last: Order) -> None:
    """Enqueue them one by one, and together."""
    for each in orders:
        fairlead.enqueue(connection, "pack", each)
    fairlead.enqueue(connection, "report", orders)
    fairlead.enqueue(connection, "report", {"orders": orders, "last": last, "day": None})
