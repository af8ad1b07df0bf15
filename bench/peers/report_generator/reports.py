"""The report generator's jobs: one builds a report, one orders all of them every month."""

import os
from datetime import UTC, date, datetime, timedelta

import procrastinate
import psycopg
from procrastinate import JobContext

queue = procrastinate.App(
    connector=procrastinate.PsycopgConnector(conninfo=os.environ["DATABASE_URL"])
)

SHOPS = "SELECT DISTINCT shop FROM sales WHERE customer = %s ORDER BY shop"
SUM = """
    SELECT coalesce(sum(cents), 0) FROM sales WHERE customer = %s AND shop = %s
    AND day >= %s AND day < %s + interval '1 month'
"""
NEW = "INSERT INTO reports (id, customer, month) VALUES (%s, %s, %s)"
LOCKS = 2
"""How many reports of a customer are built at a time."""


def connect() -> psycopg.Connection:
    """Open a connection; each statement commits."""
    return psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)


def last_month() -> date:
    """Return its first day."""
    return (datetime.now(UTC).date().replace(day=1) - timedelta(days=1)).replace(day=1)


def lock(customer: str) -> str:
    """Return one of a customer's locks, whichever is held or not."""
    return f"{customer}/{datetime.now(UTC).microsecond % LOCKS}"


@queue.task(name="report", queue="reports", retry=5, pass_context=True)
def build(context: JobContext, customer: str, month: str) -> None:
    """Sum up each shop. A repeat writes the same."""
    lines: list[str] = []
    job, day = context.job.id, date.fromisoformat(month)
    with connect() as connection:
        try:
            shops = connection.execute(SHOPS, [customer]).fetchall()
            for done, (shop,) in enumerate(shops, start=1):
                if context.should_abort():
                    raise procrastinate.exceptions.JobAborted  # noqa: TRY301 - the row says it
                for (cents,) in connection.execute(SUM, [customer, shop, day, day]):
                    lines.append(f"{shop}: {cents / 100:.2f}")
                progress = "UPDATE reports SET done = %s WHERE id = %s"
                connection.execute(progress, [done / len(shops), job])
            text = "\n".join(lines)
            connection.execute("UPDATE reports SET content = %s WHERE id = %s", [text, job])
        except Exception as error:
            failed = "UPDATE reports SET error = %s WHERE id = %s"
            connection.execute(failed, [repr(error), job])
            raise


@queue.periodic(cron="0 3 1 * *")
@queue.task(name="order_all")
async def order_all(timestamp: int) -> None:  # noqa: ARG001 - procrastinate passes it
    """Order last month's report for every customer: all of them, or none."""
    month = last_month()
    async with await psycopg.AsyncConnection.connect(os.environ["DATABASE_URL"]) as connection:
        customers = await connection.execute("SELECT DISTINCT customer FROM sales")
        for (customer,) in await customers.fetchall():
            task = build.configure(connection=connection, lock=lock(customer))
            report = await task.defer_async(customer=customer, month=month.isoformat())
            await connection.execute(NEW, [report, customer, month])
