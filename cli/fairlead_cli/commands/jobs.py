"""`fairlead jobs`: list, show, cancel, set-priority, redact, retry and redrive."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fairlead.inspection import error_chain, formats, jobs
from fairlead.inspection.jobs import State
from fairlead.inspection.rows import Row
from fairlead_cli.batches import Who, in_batches
from fairlead_cli.commands.enqueue import read
from fairlead_cli.errors import CommandError, NegativeAnswer
from fairlead_cli.output import audit_log, tables
from fairlead_cli.session import acting, ask, session

if TYPE_CHECKING:
    from fairlead.db.connect import Connection

app = typer.Typer(help="List, show, cancel and retry jobs.", no_args_is_help=True)

_NONE = "no job is like that"
_SAME: Mapping[str, object] = {}
Ids = Annotated[
    list[int], typer.Argument(min=1, max=formats.ID_MAX, metavar="ID...", help="The jobs' ids.")
]
IdsIfAny = Annotated[
    list[int] | None,
    typer.Argument(min=1, max=formats.ID_MAX, metavar="ID...", help="The jobs' ids."),
]
LimitOfAll = Annotated[
    int, typer.Option(min=1, max=10_000_000, help="At most this many, without ids.")
]
Queue = Annotated[str | None, typer.Option(help="Only this queue.")]
Tenant = Annotated[str | None, typer.Option(help="Only this tenant.")]
Kind = Annotated[str | None, typer.Option(help="Only this kind.")]

Since = Annotated[
    str | None,
    typer.Option(help="Only jobs inserted since this instant: 2026-11-21T09:30+01:00."),
]
Until = Annotated[str | None, typer.Option(help="Only jobs inserted until this instant.")]
Before = Annotated[
    int | None,
    typer.Option(min=1, max=formats.ID_MAX, help="Only jobs with a lower id: the next page."),
]


def _ago(row: Row, field: str, *, up_to: str = "now") -> str:
    """Say how long it was from one instant of a job to another, or is by now."""
    end = cast("datetime", row[up_to] or row["now"])
    return formats.since(cast("datetime | None", row[field]), now=end)


_ID = tables.Column("id", lambda row: str(row["id"]), right=True)
_WHAT = (
    tables.text("state", "state"),
    tables.text("queue", "queue"),
    tables.text("tenant", "tenant"),
    tables.text("kind", "kind"),
)
_AGE = tables.Column("age", lambda row: _ago(row, "created_at"), right=True)
_RAN = tables.Column(
    "ran", lambda row: _ago(row, "claimed_at", up_to="finished_at"), right=True
)
_WAITS = tables.Column("waits", lambda row: _ago(row, "waits_since"), right=True)
_TRIES = (
    tables.Column("try", lambda row: f"{row['attempt']}/{row['max_attempts']}", right=True),
    tables.first_line("error", "error"),
)
COLUMNS = (_ID, *_WHAT, _AGE, _RAN, *_TRIES)
OLDEST_COLUMNS = (_ID, _WAITS, *_WHAT, *_TRIES)


@app.command("list")
def list_jobs(  # noqa: PLR0913 - each is an option of the command
    *,
    queue: Queue = None,
    tenant: Tenant = None,
    kind: Annotated[str | None, typer.Option(help="Only this kind; not with --oldest.")] = None,
    state: Annotated[State | None, typer.Option(help="Only jobs in this state.")] = None,
    since: Since = None,
    until: Until = None,
    before: Before = None,
    oldest: Annotated[
        bool, typer.Option("--oldest", help="Only waiting jobs, the longest wait first.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most this many.")] = 20,
    as_json: tables.AsJson = False,
) -> None:
    """List the newest jobs.

    It finds what is unfinished of a tenant, and what failed, expired or was cancelled. Of
    other jobs it looks at the newest 18,000 at most, and says so if there are older ones
    and with which --before to go on.

    The age is since the job was inserted; ran is how long its last attempt took, or takes.

    With --oldest, list those that wait longest: what is queued for a worker, and of each
    tenant and priority in a queue the job that is next. Where there are more than 1,000 of
    these, it looks at 1,000 and at those of the 2,000 oldest jobs.
    """
    if oldest:
        later: Row = {"kind": kind, "since": since, "until": until, "before": before}
        among: Row = {"queue": queue, "tenant": tenant, "state": state, "limit": limit}
        _list_oldest(among, state, later, as_json=as_json)
        return
    wanted = jobs.Filter(
        queue=queue,
        tenant=tenant,
        kind=kind,
        state=state,
        since=read("--since", since, formats.instant),
        until=read("--until", until, formats.instant),
        before=before,
        limit=limit,
    )
    with session() as connection:
        found = jobs.newest(connection, wanted)
    said = f"{found.left_out}: give --before {found.go_on_before}" if found.left_out else ""
    none = f"{_NONE}: {said}" if said else _NONE
    tables.rows(found.rows, COLUMNS, as_json=as_json, none=none)
    if said and (found.rows or as_json):
        typer.echo(f"fairlead: {said}", err=True)


def _list_oldest(wanted: Row, state: State | None, page: Row, *, as_json: bool) -> None:
    if page["kind"] is not None:
        raise CommandError(
            f"--kind {page['kind']}: --oldest looks at the next job of each tenant and "
            "priority, whatever its kind, so leave --kind out"
        )
    for name in ("since", "until", "before"):
        if page[name] is not None:
            raise CommandError(
                f"--{name} is for the newest jobs first, so leave it or --oldest out"
            )
    if state not in (None, State.PENDING, State.QUEUED):
        raise CommandError(
            f"--state {state}: --oldest lists jobs that wait, so give pending or queued, or "
            "leave it out"
        )
    with session() as connection:
        found = ask(connection, "list_oldest", wanted)
    cuts = {row.pop("is_cut") for row in found}
    tables.rows(found, OLDEST_COLUMNS, as_json=as_json, none="no job like that waits")
    if True in cuts:
        typer.echo(
            "fairlead: looked at the next jobs of 1,000 tenants and priorities and of those "
            "of the 2,000 oldest jobs, and there are more: give --queue or --tenant",
            err=True,
        )


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
        found = jobs.show(connection, job_id)
        if found is None:
            raise NegativeAnswer(
                f"job {job_id} is unknown: it never was, or its history has expired"
            )
        attempts = jobs.attempts(connection, job_id)
        changes = jobs.audit(connection, job_id)
    job_error = cast("str | None", found["error"])
    if as_json:
        job: Row = {**found, "error_chain": error_chain.read(job_error)}
        tables.print_json({**job, "attempts": _with_chains(attempts), "audit": changes})
        return
    tables.fields(found)
    if attempts:
        typer.echo()
        tables.rows(attempts, _ATTEMPTS, as_json=False, none="")
        for line in error_chain.lines_below(job_error, attempts):
            typer.echo(line)
    if changes:
        typer.echo()
        tables.rows(changes, audit_log.OF_JOB, as_json=False, none="")


def _with_chains(attempts: Sequence[Row]) -> list[Row]:
    return [
        {**row, "error_chain": error_chain.read(cast("str | None", row["error"]))}
        for row in attempts
    ]


_ATTEMPTS = (
    tables.number("attempt", "attempt"),
    tables.text("ended as", "ended_as"),
    tables.Column("at", lambda row: f"{row['at']:%Y-%m-%d %H:%M:%S%z}"),
    tables.first_line("error", "error"),
)


@app.command("cancel")
def cancel(
    ids: IdsIfAny = None,
    *,
    queue: Queue = None,
    tenant: Tenant = None,
    kind: Kind = None,
    limit: LimitOfAll = 100_000,
    actor: audit_log.Actor = None,
    reason: audit_log.Reason = "",
    as_json: tables.AsJson = False,
) -> None:
    """Cancel jobs by id, or those of a queue, tenant or kind.

    A running one is asked to stop. Jobs that another transaction holds are left, and
    counted. A repeat is harmless.
    """
    alike = {"queue": queue, "tenant": tenant, "kind": kind}
    _check_named(ids, alike)
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


@app.command("set-priority")
def set_priority(  # noqa: PLR0913 - each is an option of the command
    ids: IdsIfAny = None,
    *,
    priority: Annotated[
        int, typer.Option(min=-100, max=100, help="The priority: higher goes first.")
    ],
    queue: Queue = None,
    tenant: Tenant = None,
    kind: Kind = None,
    limit: LimitOfAll = 100_000,
    actor: audit_log.Actor = None,
    reason: audit_log.Reason = "",
    as_json: tables.AsJson = False,
) -> None:
    """Give jobs that wait another priority.

    By id, or those of a queue, tenant or kind. They stand behind those that have it
    already. One that runs keeps its priority. Jobs that another transaction holds are left,
    and counted. A repeat is harmless.
    """
    alike: Row = {"queue": queue, "tenant": tenant, "kind": kind}
    _check_named(ids, alike)
    asked: Row = {"priority": priority, **alike}
    with session() as connection:
        if ids:
            with acting(connection, actor, reason):
                answers = _ask_each(connection, "set_priority", ids, asked)
            _answer(answers, "answer", as_json=as_json)
            _say_running(answers)
            return
        done = in_batches(connection, "set_priorities", asked, Who(actor, reason), limit=limit)
    if as_json:
        tables.print_json(done)
        return
    typer.echo(
        f"changed {formats.jobs(done['changed'])}; {done['running']} run and keep their "
        f"priority, {done['locked']} are held by another transaction"
    )


def _say_running(answers: Sequence[Row]) -> None:
    running = [str(row["id"]) for row in answers if row["answer"] == "running"]
    if running:
        raise NegativeAnswer(
            f"running: {', '.join(running)}; a job that runs keeps its priority"
        )


def _check_named(ids: Sequence[int] | None, alike: Mapping[str, object]) -> None:
    """Refuse what names no jobs, or names them in both ways."""
    named = any(value is not None for value in alike.values())
    if named == bool(ids):
        raise CommandError(
            "give ID..., or --queue, --tenant or --kind" + (", not both" if named else "")
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
    """Run jobs again: scheduled ones now, finished ones anew."""
    with session() as connection, acting(connection, actor, reason):
        answers = _ask_each(connection, "retry", ids)
    for row in answers:
        row["answer"] = "unknown" if row["new_id"] is None else f"runs as {row['new_id']}"
    _answer(answers, "answer", as_json=as_json)


def _ask_each(
    connection: "Connection", name: str, ids: Sequence[int], asked: Mapping[str, object] = _SAME
) -> list[Row]:
    """Ask the same of each job; by id, the order in which others lock them."""
    return [
        {"id": job_id, **ask(connection, name, {**asked, "id": job_id})[0]}
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
