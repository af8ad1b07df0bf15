"""Jobs that are looked after."""

from datetime import timedelta
from typing import assert_type

import psycopg
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

import fairlead
from fairlead.job_control import CancelledJobs


def look_after(connection: psycopg.Connection, session: Session, job: int) -> None:
    """Cancel, retry, look and wait."""
    answer = fairlead.cancel(connection, job)
    if answer == "unknown":
        print("gone")
    for each, became in fairlead.cancel(session, [job]).items():
        print(each + 1, became == "requested")
    assert_type(fairlead.cancel(connection, tenant="acme"), CancelledJobs)
    assert_type(fairlead.retry(session, job), int | None)
    assert_type(fairlead.status(connection, job), fairlead.JobStatus | None)
    ended = fairlead.wait(connection, job, timeout=timedelta(minutes=1))
    print(ended.state == "failed", ended.result, ended.has_ended)
    assert_type(fairlead.wait("postgresql://", job, timeout=5), fairlead.JobStatus)


async def look_after_later(
    connection: psycopg.AsyncConnection, session: AsyncSession, job: int
) -> None:
    """Do the same and await it."""
    assert_type(await fairlead.cancel(connection, kind="mail"), CancelledJobs)
    assert_type(await fairlead.retry(session, job), int | None)
    found = await fairlead.status(session, job)
    print(found and found.progress)
    assert_type(await fairlead.wait(connection, job, timeout=5), fairlead.JobStatus)
    assert_type(await fairlead.enqueue(session, "a"), int | None)
