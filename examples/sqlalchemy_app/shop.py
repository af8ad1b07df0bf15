"""A shop with SQLAlchemy: jobs are mapped like any table, and join the session's transaction.

    cd examples/sqlalchemy_app && fairlead dev --app shop:tasks

In another terminal, once FAIRLEAD_DATABASE_URL is set:

    python examples/sqlalchemy_app/shop.py alice 30

The model lists the columns that this application sets. The others have defaults in the
database, and an application may read nothing but `id`. It has a base of its own, so that
whatever makes the application's tables never touches Fairlead's.
"""

import os
import sys
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache

import psycopg
from sqlalchemy import TIMESTAMP, BigInteger, Engine, Identity, MetaData, create_engine
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

import fairlead

tasks = fairlead.Tasks()


class Base(DeclarativeBase):
    """The application's own tables: what `create_all` makes and Alembic compares."""


class Order(Base):
    """The application's own table."""

    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    customer: Mapped[str]
    amount: Mapped[Decimal]
    confirmed_at: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))


class FairleadBase(DeclarativeBase):
    """Fairlead's schema, which `fairlead migrate` makes and nothing here may change."""

    metadata = MetaData(schema="fairlead")


class NewJob(FairleadBase):
    """A row of fairlead.jobs, as far as this application uses it."""

    __tablename__ = "jobs"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    kind: Mapped[str]
    payload: Mapped[dict[str, object]] = mapped_column(JSONB)
    tenant: Mapped[str]
    dedup_key: Mapped[str | None]


@cache
def engine() -> Engine:
    """Return this process's engine."""
    where = os.environ["FAIRLEAD_DATABASE_URL"]
    return create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(where))


def place_order(session: Session, customer: str, amount: Decimal) -> Order:
    """Add an order and the job that confirms it; the caller commits both."""
    order = Order(customer=customer, amount=amount)
    session.add(order)
    session.flush()  # the order has its id now
    session.add(NewJob(kind="confirm_order", payload={"order": order.id}, tenant=customer))
    return order


def confirm_again(session: Session, order: Order) -> None:
    """Ask for a confirmation unless one is asked for already: ON CONFLICT without a target."""
    wanted = insert(NewJob).values(
        kind="confirm_order",
        payload={"order": order.id},
        tenant=order.customer,
        dedup_key=f"confirm:{order.id}",
    )
    session.execute(wanted.on_conflict_do_nothing())


@tasks.handler("confirm_order", timeout=30)
def confirm_order(job: fairlead.Job[dict[str, int]]) -> None:
    """Confirm an order, and finish the job with the same commit."""
    with Session(engine()) as session:
        order = session.get_one(Order, job.payload["order"])
        order.confirmed_at = datetime.now(UTC)
        session.flush()
        cursor = session.connection().connection.cursor()
        job.complete(cursor, {"confirmed": order.id})
        session.commit()


def main() -> None:
    """Place an order for the customer and the amount on the command line."""
    customer, amount = sys.argv[1:]
    Base.metadata.create_all(engine())
    with Session(engine()) as session:
        order = place_order(session, customer, Decimal(amount))
        session.commit()
        print(f"order {order.id} is placed")


if __name__ == "__main__":
    main()
