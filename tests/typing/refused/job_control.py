"""Arguments of what looks after jobs, and answers that may be none."""

import psycopg

import fairlead

tasks = fairlead.Tasks()


def look_after(connection: psycopg.Connection, job: int) -> None:
    """Be wrong in each line."""
    fairlead.cancel(connection, "5")  # refused
    fairlead.cancel(connection, job, tenant="acme")  # refused
    print(fairlead.status(connection, job).state)  # refused
    fairlead.wait(connection, job)  # refused
    fairlead.wait(connection, job, timeout="5s")  # refused
    tasks.cron("0 3 * * *", missed="never")  # refused
