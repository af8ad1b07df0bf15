"""`fairlead jobs`: list, show, cancel, redact, retry and redrive."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fairlead_cli.batches import Who, in_batches
from fairlead_cli.commands.enqueue import read
from fairlead_cli.errors import CommandError, NegativeAnswer
from fairlead_cli.output import audit_log, formats, tables
from fairlead_cli.session import Row, acting, ask, session

if TYPE_CHECKING:
    from fairlead.db.connect import Connection

app = typer.Typer(help="List, show, cancel and retry jobs.", no_args_is_help=True)

_NONE = "no job is like that"
_LOOKED_MAX = 100_000
"""As list_live and list_ended say."""


class State(StrEnum):
    """Where a job is in its life."""

    PENDING = "pending"
    QUEUED = "queued"
    RUNNING = "running"
    SCHEDULED = "scheduled"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


_QUEUED = (State.QUEUED, State.RUNNING)
_ENDED = (State.SUCCEEDED, State.FAILED, State.CANCELLED, State.EXPIRED)

Ids = Annotated[
    list[int], typer.Argument(min=1, max=formats.ID_MAX, metavar="ID...", help="The jobs' ids.")
]
Queue = Annotated[str | None, typer.Option(help="Only this queue.")]
Tenant = Annotated[str | None, typer.Option(help="Only this tenant.")]
Kind = Annotated[str | None, typer.Option(help="Only this kind.")]

COLUMNS = (
    tables.Column("id", lambda row: str(row["id"]), right=True),
    tables.text("state", "state"),
    tables.text("queue", "queue"),
    tables.text("tenant", "tenant"),
    tables.text("kind", "kind"),
    tables.Column("try", lambda row: f"{row['attempt']}/{row['max_attempts']}", right=True),
    tables.text("error", "error", empty=""),
)


_WAITS = tables.Column(
    "waits",
    lambda row: formats.since(
        cast("datetime", row["waits_since"]), now=cast("datetime", row["now"])
    ),
    right=True,
)
OLDEST_COLUMNS = (COLUMNS[0], _WAITS, *COLUMNS[1:])


@app.command("list")
def list_jobs(
    *,
    queue: Queue = None,
    tenant: Tenant = None,
    kind: Annotated[str | None, typer.Option(help="Only this kind; not with --oldest.")] = None,
    state: Annotated[State | None, typer.Option(help="Only jobs in this state.")] = None,
    oldest: Annotated[
        bool, typer.Option("--oldest", help="Only waiting jobs, the longest wait first.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most this many.")] = 20,
    as_json: tables.AsJson = False,
) -> None:
    """List the newest jobs. Reads at most 100,000 unfinished and 100,000 finished ones.

    With --oldest, list those that wait longest, however many wait: what is queued for a
    worker, and of each tenant and priority in a queue the job that is next.
    """
    wanted: Row = {"queue": queue, "tenant": tenant, "state": state, "limit": limit}
    if oldest:
        _list_oldest(wanted, state, kind, as_json=as_json)
        return
    wanted["kind"] = kind
    sources = _sources(state)
    found: list[Row] = []
    unseen: list[str] = []
    with session() as connection:
        for name in sources:
            found += ask(connection, name, wanted)
        if len(found) < limit:
            unseen = _unseen(ask(connection, "list_bounds", wanted)[0], sources)
    found.sort(key=lambda row: int(str(row["id"])), reverse=True)
    among = " and ".join(unseen)
    none = f"no job is like that among {among}; there are older ones" if unseen else _NONE
    tables.rows(found[:limit], COLUMNS, as_json=as_json, none=none)
    if unseen and (found or as_json):
        typer.echo(f"fairlead: looked at {among}; there are older ones", err=True)


def _list_oldest(wanted: Row, state: State | None, kind: str | None, *, as_json: bool) -> None:
    if kind is not None:
        raise CommandError(
            f"--kind {kind}: --oldest looks at the next job of each tenant and priority, "
            "whatever its kind, so leave --kind out"
        )
    if state not in (None, State.PENDING, State.QUEUED):
        raise CommandError(
            f"--state {state}: --oldest lists jobs that wait, so give pending or queued, or "
            "leave it out"
        )
    with session() as connection:
        found = ask(connection, "list_oldest", wanted)
    tables.rows(found, OLDEST_COLUMNS, as_json=as_json, none="no job like that waits")


def _unseen(bounds: Row, sources: Sequence[str]) -> list[str]:
    """Name what was looked at up to a bound that left out others."""
    kinds = (("list_live", "live", "unfinished"), ("list_ended", "ended", "finished"))
    return [
        f"the newest {_LOOKED_MAX:,} {called} jobs"
        for source, column, called in kinds
        if source in sources and int(str(bounds[column])) > _LOOKED_MAX
    ]


def _sources(state: State | None) -> tuple[str, ...]:
    if state in _QUEUED:
        return ("list_queued",)
    if state in _ENDED:
        return ("list_ended",)
    return ("list_live", "list_ended") if state is None else ("list_live",)


@app.command("show")
def show_job(
    job_id: Annotated[
        int, typer.Argument(metavar="ID", min=1, max=formats.ID_MAX, help="The job.")
    ],
    *,
    as_json: tables.AsJson = False,
) -> None:
    """Show one job in any state, its errors, and who changed it."""
    with session() as connection:
        found = ask(connection, "show_job", {"id": job_id})
        if not found:
            raise NegativeAnswer(
                f"job {job_id} is unknown: it never was, or its history has expired"
            )
        attempts = _attempts(connection, job_id)
        changes = audit_log.of_job(connection, job_id)
    if as_json:
        tables.print_json({**found[0], "attempts": attempts, "audit": changes})
        return
    tables.fields(found[0])
    if attempts:
        typer.echo()
        tables.rows(attempts, _ATTEMPTS, as_json=False, none="")
    if changes:
        typer.echo()
        tables.rows(changes, audit_log.OF_JOB, as_json=False, none="")


def _attempts(connection: "Connection", job_id: int) -> list[Row]:
    """Return what went wrong, oldest first; an application's login sees only the job itself."""
    from psycopg.errors import InsufficientPrivilege

    try:
        found = ask(connection, "show_attempts", {"id": job_id})
    except InsufficientPrivilege:
        return []
    return sorted(found, key=lambda row: cast("datetime", row["at"]))


_ATTEMPTS = (
    tables.number("attempt", "attempt"),
    tables.text("ended as", "ended_as"),
    tables.Column("at", lambda row: f"{row['at']:%Y-%m-%d %H:%M:%S%z}"),
    tables.text("error", "error", empty=""),
)


@app.command("cancel")
def cancel(
    ids: Annotated[
        list[int] | None,
        typer.Argument(min=1, max=formats.ID_MAX, metavar="ID...", help="The jobs' ids."),
    ] = None,
    *,
    queue: Queue = None,
    tenant: Tenant = None,
    kind: Kind = None,
    limit: Annotated[
        int, typer.Option(min=1, max=10_000_000, help="At most this many, without ids.")
    ] = 100_000,
    actor: audit_log.Actor = None,
    reason: audit_log.Reason = "",
    as_json: tables.AsJson = False,
) -> None:
    """Cancel jobs by id, or those of a queue, tenant or kind.

    A running one is asked to stop. Jobs that another transaction holds are left, and
    counted. A repeat is harmless.
    """
    alike = {"queue": queue, "tenant": tenant, "kind": kind}
    named = any(value is not None for value in alike.values())
    if named == bool(ids):
        raise CommandError(
            "give ID..., or --queue, --tenant or --kind" + (", not both" if named else "")
        )
    with session() as connection:
        if ids:
            with acting(connection, actor, reason):
                answers = _ask_each(connection, "cancel", ids)
            _answer(answers, "answer", as_json=as_json)
            return
        done = in_batches(connection, "cancel_jobs", alike, Who(actor, reason), limit=limit)
    if as_json:
        tables.print_json(done)
        return
    typer.echo(
        f"cancelled {formats.jobs(done['ended'])}; {done['requested']} run and were asked to "
        f"stop, {done['locked']} are held by another transaction"
    )


@app.command("redact")
def redact(
    ids: Ids,
    *,
    actor: audit_log.Actor = None,
    reason: audit_log.Reason = "",
    as_json: tables.AsJson = False,
) -> None:
    """Take out of finished jobs what they carried. They cannot be retried then.

    Payload, headers, dedup key, result, errors and progress go; the row stays in the
    history. A job that repeats it has its own copy. A repeat is harmless.
    """
    with session() as connection, acting(connection, actor, reason):
        answers = _ask_each(connection, "redact", ids)
    unfinished = [str(row["id"]) for row in answers if row["answer"] == "unfinished"]
    _answer(answers, "answer", as_json=as_json)
    if unfinished:
        raise NegativeAnswer(f"unfinished: {', '.join(unfinished)}; cancel them first")


@app.command("retry")
def retry(
    ids: Ids,
    *,
    actor: audit_log.Actor = None,
    reason: audit_log.Reason = "",
    as_json: tables.AsJson = False,
) -> None:
    """Run jobs again: scheduled ones now, finished ones as new jobs."""
    with session() as connection, acting(connection, actor, reason):
        answers = _ask_each(connection, "retry", ids)
    for row in answers:
        row["answer"] = "unknown" if row["new_id"] is None else f"runs as {row['new_id']}"
    _answer(answers, "answer", as_json=as_json)


def _ask_each(connection: "Connection", name: str, ids: Sequence[int]) -> list[Row]:
    """Ask the same of each job; by id, the order in which others lock them."""
    return [
        {"id": job_id, **ask(connection, name, {"id": job_id})[0]}
        for job_id in sorted(set(ids))
    ]


def _answer(answers: Sequence[Row], field: str, *, as_json: bool) -> None:
    columns = (tables.text("job", "id"), tables.text("answer", field))
    tables.rows(answers, columns, as_json=as_json, none="")
    unknown = [str(row["id"]) for row in answers if row[field] == "unknown"]
    if unknown:
        raise NegativeAnswer(
            f"unknown: {', '.join(unknown)}; their ids are wrong or their history gone"
        )


@app.command("redrive")
def redrive(
    queue: Annotated[str, typer.Argument(help="The queue.")],
    *,
    tenant: Tenant = None,
    kind: Kind = None,
    within: Annotated[
        str | None,
        typer.Option(help="Only jobs that failed within this time: 90s, 5m, 2h, 1d."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=10_000_000, help="At most this many jobs.")
    ] = 100_000,
    actor: audit_log.Actor = None,
    reason: audit_log.Reason = "",
    as_json: tables.AsJson = False,
) -> None:
    """Run failed jobs of a queue again. Oldest first; a repeat skips those already redriven."""
    alike = {"queue": queue, "tenant": tenant, "kind": kind}
    with session() as connection:
        since = {"within": read("--within", within, formats.duration)}
        (place,) = ask(connection, "redrive_since", since)
        asked = {**alike, **place}
        done = in_batches(connection, "redrive", asked, Who(actor, reason), limit=limit)
    made = done["made"]
    if as_json:
        tables.print_json({"made": made})
    else:
        typer.echo(f"runs {formats.jobs(made)} again")
