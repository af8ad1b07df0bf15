"""The report generator's pages: order a report, see how far it is, cancel it, read it.

../README.md says how to run it. Who is logged in stands in the address, for want of users.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import date
from html import escape
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

import fairlead
from reports import NEW, build, last_month

LISTED = """
    SELECT r.id, r.month, CASE WHEN r.content IS NULL THEN s.state ELSE 'done' END,
        s.progress, s.error
    FROM reports r LEFT JOIN LATERAL (
        SELECT state, progress, error FROM fairlead.job_status WHERE id = r.id) s ON true
    WHERE r.customer = %s ORDER BY r.id DESC LIMIT 20
"""


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncGenerator[dict[str, object]]:
    """Have connections for as long as the application runs."""
    url, check = os.environ["FAIRLEAD_DATABASE_URL"], AsyncConnectionPool.check_connection
    async with AsyncConnectionPool[AsyncConnection](url, check=check) as pool:
        yield {"pool": pool}


async def transaction(request: Request) -> AsyncGenerator[AsyncConnection]:
    """Commit what a request has done before it is answered, or roll it back."""
    async with request.state.pool.connection() as connection:
        yield connection


app = FastAPI(lifespan=lifespan)
Connection = Annotated[AsyncConnection, Depends(transaction, scope="function")]


@app.post("/{customer}/reports")
async def order(connection: Connection, customer: str, month: date) -> RedirectResponse:
    """Add the report and the job that builds it: both, or neither."""
    try:
        job = await build.using(tenant=customer).enqueue(connection, month)
    except fairlead.OverBacklog as error:
        raise HTTPException(429, str(error)) from error
    await connection.execute(NEW, [job, customer, month])
    return RedirectResponse("./", 303)


@app.post("/{customer}/reports/{report}/cancel")
async def cancel(connection: Connection, customer: str, report: int) -> RedirectResponse:
    """Cancel a report that waits, or ask the one who builds it to stop."""
    status = await fairlead.status(connection, report)
    if status is None or status.tenant != customer:
        raise HTTPException(404)
    await fairlead.cancel(connection, report)
    return RedirectResponse("../../", 303)


@app.get("/{customer}/reports/{report}")
async def read(connection: Connection, customer: str, report: int) -> PlainTextResponse:
    """Return a report that is done."""
    query = "SELECT content FROM reports WHERE id = %s AND customer = %s"
    found = await (await connection.execute(query, [report, customer])).fetchone()
    if found is None or found[0] is None:
        raise HTTPException(404)
    return PlainTextResponse(found[0])


@app.get("/{customer}/")
async def listed(connection: Connection, customer: str) -> HTMLResponse:
    """List the newest reports, with a button for each that can be cancelled."""
    rows = await (await connection.execute(LISTED, [customer])).fetchall()
    return HTMLResponse(
        f"""<meta http-equiv="refresh" content="2"><h1>Reports of {escape(customer)}</h1>
        <form method="post" action="reports?month={last_month()}"><button>Order</button></form>
        {"".join(line(*row) for row in rows)}"""
    )


def line(job: int, month: date, state: str, part: float | None, error: str | None) -> str:
    """Return a report's line of the list."""
    if state == "done":
        return f'<p><a href="reports/{job}">{month:%B %Y}</a></p>'
    if state not in ("scheduled", "pending", "queued", "running"):
        return f"<p>{month:%B %Y}: {state} {escape(error or '')}</p>"
    return (
        f'<form method="post" action="reports/{job}/cancel">{month:%B %Y}: {state} '
        f'<progress value="{part or 0}"></progress> <button>Cancel</button></form>'
    )
