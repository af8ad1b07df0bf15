"""`fairlead audit`: who cancelled, retried, paused, or changed a schedule or the policy."""

from typing import Annotated

import typer

from fairlead.inspection import formats
from fairlead_cli.commands.enqueue import read
from fairlead_cli.output import audit_log, tables
from fairlead_cli.session import ask, session


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("audit")(list_entries)


def list_entries(
    *,
    since: Annotated[
        str | None, typer.Option(help="Only entries of this last time: 90s, 5m, 2h, 30d.")
    ] = None,
    actor: Annotated[
        str | None, typer.Option(help="Only what this actor, or this login, did.")
    ] = None,
    job: Annotated[
        int | None,
        typer.Option(min=1, max=formats.ID_MAX, help="Only what was done to this job."),
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="Only of this tenant.")] = None,
    verb: Annotated[
        str | None, typer.Option(help="Only this: cancel, retry, redrive, pause, resume, ...")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most this many.")] = 50,
    as_json: tables.AsJson = False,
) -> None:
    """List who changed what by hand, newest first: the audit log."""
    wanted = {
        "within": read("--since", since, formats.duration),
        "actor": actor,
        "job": job,
        "tenant": tenant,
        "verb": verb,
        "limit": limit,
    }
    with session() as connection:
        found = ask(connection, "list_audit", wanted)
    tables.rows(
        found, audit_log.COLUMNS, as_json=as_json, none="the audit log has no such entry"
    )
