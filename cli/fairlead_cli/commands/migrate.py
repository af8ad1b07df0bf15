"""`fairlead migrate` and `fairlead version`."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from fairlead_cli.commands.enqueue import read
from fairlead_cli.errors import CommandError
from fairlead_cli.output import formats, tables, wait_for

if TYPE_CHECKING:
    from psycopg.errors import Diagnostic

    from fairlead.db.connect import Connection


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("migrate")(run_migrations)
    app.command("version")(show_version)


def run_migrations(
    *,
    plan_only: Annotated[
        bool, typer.Option("--plan", help="Print the SQL without running it.")
    ] = False,
    rls: Annotated[
        bool,
        typer.Option(help="Install row-level security: a login sees only its tenants' jobs."),
    ] = False,
    wait: wait_for.WaitForDatabase = None,
    as_json: tables.AsJson = False,
) -> None:
    """Install or upgrade the schema. Safe to repeat, and to run from several places at once."""
    from fairlead.db.migrate import plan, schema_state

    wait_limit = read("--wait", wait, formats.duration) or timedelta(0)
    with wait_for.connected(within=wait_limit) as connection:
        state = schema_state(connection)
        if state.too_new:
            raise CommandError(state.sentence())
        if plan_only:
            planned = plan(connection, rls=rls)
            if as_json:
                tables.print_json({"plan": planned})
            else:
                typer.echo(planned, nl=False)
            return
        warnings: list[str] = []

        def keep(said: "Diagnostic") -> None:
            if said.severity_nonlocalized == "WARNING":
                warnings.append(
                    ". ".join(filter(None, (said.message_primary, said.message_hint)))
                )

        connection.add_notice_handler(keep)
        ran = _migrated(connection, rls=rls)
        state = schema_state(connection)
    if as_json:
        tables.print_json({"version": state.version, "ran": ran, "warnings": warnings})
        return
    for name in ran:
        typer.echo(f"applied {name}")
    for warning in warnings:
        typer.echo(f"fairlead: warning: {warning}", err=True)
    typer.echo(
        state.newer()
        if state.version > state.needed
        else f"the schema is version {state.version}"
    )


def _migrated(connection: "Connection", *, rls: bool) -> tuple[str, ...]:
    from psycopg.errors import InsufficientPrivilege

    from fairlead.db.migrate import migrate

    try:
        return migrate(connection, rls=rls)
    except InsufficientPrivilege as error:
        said = error.diag.message_primary or ""
        of = "database" if "for database" in said else "schema"
        raise CommandError(f"{said}: log in as the owner of the {of}") from None


def show_version(*, as_json: tables.AsJson = False) -> None:
    """Print the versions of this program and of the schema it needs."""
    from importlib.metadata import version as version_of

    from fairlead.db.migrations import newest

    found = {"version": version_of("fairlead"), "schema": newest()}
    if as_json:
        tables.print_json(found)
    else:
        typer.echo(f"fairlead {found['version']}, schema {found['schema']}")
