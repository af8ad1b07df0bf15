"""The report generator's jobs: one builds a report, one orders all of them every month."""

import os
from datetime import UTC, date, datetime, timedelta

import psycopg

import fairlead

tasks = fairlead.Tasks(name="reports")

SHOPS = "SELECT DISTINCT shop FROM sales WHERE customer = %s ORDER BY shop"
SUM = """
    SELECT coalesce(sum(cents), 0) FROM sales WHERE customer = %s AND shop = %s
    AND day >= %s AND day < %s + interval '1 month'
"""
NEW = "INSERT INTO reports (id, customer, month) VALUES (%s, %s, %s)"


def connect() -> psycopg.Connection:
    """Open a connection; it commits at the end of its `with`."""
    return psycopg.connect(os.environ["FAIRLEAD_DATABASE_URL"])


def last_month() -> date:
    """Return its first day."""
    return (datetime.now(UTC).date().replace(day=1) - timedelta(days=1)).replace(day=1)


@tasks.handler("report", queue="reports", timeout=300, max_attempts=5)
def build(job: fairlead.Job, month: date) -> None:
    """Sum up each shop. The report and the job's end are one commit."""
    lines: list[str] = []
    with connect() as connection:
        shops = connection.execute(SHOPS, [job.tenant]).fetchall()
        for done, (shop,) in enumerate(shops, start=1):
            job.raise_if_cancelled()
            for (cents,) in connection.execute(SUM, [job.tenant, shop, month, month]):
                lines.append(f"{shop}: {cents / 100:.2f}")
            job.progress(done / len(shops), shop)
        text = "\n".join(lines)
        connection.execute("UPDATE reports SET content = %s WHERE id = %s", [text, job.id])
        job.complete(connection)


@tasks.cron("0 3 1 * *", timezone="Europe/Berlin")
@tasks.handler
def order_all(job: fairlead.Job) -> None:
    """Order last month's report for every customer: all of them, once."""
    month = last_month()
    with connect() as connection:
        for (customer,) in connection.execute("SELECT DISTINCT customer FROM sales").fetchall():
            report = build.using(tenant=customer).enqueue(connection, month)
            connection.execute(NEW, [report, customer, month])
        job.complete(connection)
