"""A shop with psycopg alone: an order and its confirmation are one transaction.

cd examples/plain && fairlead dev --app shop:tasks

In another terminal, once FAIRLEAD_DATABASE_URL is set:

python examples/plain/shop.py alice 30
"""

import os
import sys
from typing import TypedDict

import psycopg

import fairlead

tasks = fairlead.Tasks()

TABLE = """
    create table if not exists orders (
        id bigint generated always as identity primary key,
        customer text not null,
        amount numeric not null check (amount > 0),
        confirmed_at timestamptz
    )
"""


class Confirmation(TypedDict):
    """The payload of `confirm_order`."""

    order: int


def connect() -> psycopg.Connection:
    """Open a connection; a real shop has a pool."""
    return psycopg.connect(os.environ["FAIRLEAD_DATABASE_URL"])


def place_order(connection: psycopg.Connection, customer: str, amount: float) -> int:
    """Insert an order and the job that confirms it: both, or neither."""
    with connection.transaction():
        row = connection.execute(
            "insert into orders (customer, amount) values (%s, %s) returning id",
            [customer, amount],
        ).fetchone()
        assert row is not None
        order: int = row[0]
        fairlead.enqueue(
            connection,
            "confirm_order",
            {"order": order},
            tenant=customer,
            dedup_key=f"confirm:{order}",
        )
    return order


def place_order_with_sql(connection: psycopg.Connection, customer: str, amount: float) -> None:
    """Do the same without the library, as any language could: a job is a row."""
    connection.execute(
        """
        with placed as (
            insert into orders (customer, amount) values (%s, %s) returning id, customer
        )
        insert into fairlead.jobs (kind, payload, tenant, dedup_key)
        select 'confirm_order', jsonb_build_object('order', id), customer, 'confirm:' || id
        from placed
        on conflict do nothing
        """,
        [customer, amount],
    )


@tasks.handler("confirm_order", timeout=30)
def confirm_order(job: fairlead.Job[Confirmation]) -> None:
    """Confirm an order, and finish the job with the same commit."""
    with connect() as connection:
        connection.execute(
            "update orders set confirmed_at = now() where id = %s", [job.payload["order"]]
        )
        job.complete(connection, {"confirmed": job.payload["order"]})


def main() -> None:
    """Place an order for the customer and the amount on the command line."""
    customer, amount = sys.argv[1:]
    with connect() as connection:
        connection.execute(TABLE)
        print(f"order {place_order(connection, customer, float(amount))} is placed")


if __name__ == "__main__":
    main()
