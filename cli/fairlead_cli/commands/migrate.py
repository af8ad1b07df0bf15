"""`fairlead migrate` and `fairlead version`."""

from collections.abc import Sequence
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from fairlead.inspection import formats
from fairlead_cli.commands.enqueue import read
from fairlead_cli.errors import CommandError
from fairlead_cli.output import audit_log, tables, wait_for
from fairlead_cli.session import acting

if TYPE_CHECKING:
    from psycopg.errors import Diagnostic

    from fairlead.db.connect import Connection
    from fairlead.db.migrate import SchemaState


_WAITING_SECONDS = 10.0
"""How often a change that waits for its locks is reported."""

Release = Annotated[
    str,
    typer.Option(
        envvar="FAIRLEAD_RELEASE",
        help="The release or fleet to install it for: the first one with a name owns the "
        "database, and another is refused.",
    ),
]
TakeOver = Annotated[
    bool,
    typer.Option(
        "--take-over", help="Make --release the owner of a database that is another's."
    ),
]


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
    release: Release = "",
    take_over: TakeOver = False,
    actor: audit_log.Actor = None,
    wait: wait_for.WaitForDatabase = None,
    as_json: tables.AsJson = False,
) -> None:
    """Install or upgrade the schema. Safe to repeat, and to run from several places at once.

    Services and applications may go on: a change that gets no lock within 200 ms lets them go
    first and is tried again, for a minute.
    """
    from fairlead.db.migrate import plan, schema_state

    if take_over and not release:
        raise CommandError("--take-over needs the name of the new owner: give --release")
    wait_limit = read("--wait", wait, formats.duration) or timedelta(0)
    with wait_for.connected(within=wait_limit) as connection:
        state = schema_state(connection)
        if state.too_new:
            raise CommandError(state.sentence())
        if plan_only:
            _print_plan(plan(connection, rls=rls), as_json=as_json)
            return
        if not take_over:
            _refuse_another(connection, release)
        warnings = _warnings(connection)
        ran = _migrated(connection, rls=rls)
        owner = _owned(connection, release, take_over=take_over, actor=actor)
        state = schema_state(connection)
    if as_json:
        tables.print_json(
            {"version": state.version, "ran": ran, "warnings": warnings, "owner": owner}
        )
    else:
        _say(state, ran, warnings, owner)


def _warnings(connection: "Connection") -> list[str]:
    """Return a list to which the server's warnings are added from now on."""
    warnings: list[str] = []

    def keep(said: "Diagnostic") -> None:
        if said.severity_nonlocalized == "WARNING":
            warnings.append(". ".join(filter(None, (said.message_primary, said.message_hint))))

    connection.add_notice_handler(keep)
    return warnings


def _print_plan(planned: str, *, as_json: bool) -> None:
    if as_json:
        tables.print_json({"plan": planned})
    else:
        typer.echo(planned, nl=False)


def _say(
    state: "SchemaState", ran: Sequence[str], warnings: Sequence[str], owner: str | None
) -> None:
    for name in ran:
        typer.echo(f"applied {name}")
    for warning in warnings:
        typer.echo(f"fairlead: warning: {warning}", err=True)
    typer.echo(
        state.newer()
        if state.version > state.needed
        else f"the schema is version {state.version}"
    )
    if owner:
        typer.echo(f"the database belongs to the release {owner}")


def _refuse_another(connection: "Connection", release: str) -> None:
    """Refuse a database of another release before anything is changed in it.

    Without a name anybody may migrate: that gives a database to nobody.

    Raises:
        CommandError: the sentence names both.
    """
    from psycopg import errors

    from fairlead import ownership

    if not release:
        return
    try:
        owner = ownership.owner_of(connection)
    except (errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName):
        return  # a schema without owners, or none
    if owner not in ("", release):
        raise CommandError(ownership.refusal(owner, release))


def _owned(
    connection: "Connection", release: str, *, take_over: bool, actor: str | None
) -> str | None:
    """Make a release the owner where it may be; return the owner, if there is one.

    Raises:
        CommandError: another one became it in the meantime.
    """
    from fairlead import ownership

    with acting(connection, actor):
        (ownership.take_over if take_over else ownership.own)(connection, release)
    _refuse_another(connection, release)
    return ownership.owner_of(connection) or None


def _migrated(connection: "Connection", *, rls: bool) -> tuple[str, ...]:
    from psycopg.errors import InsufficientPrivilege

    from fairlead.db.migrate import migrate
    from fairlead.runtime.log_throttle import LogThrottle

    throttle = LogThrottle(_WAITING_SECONDS)

    def say(sentence: str) -> None:
        if throttle.due("waiting", monotonic()):
            typer.echo(f"fairlead: {sentence}", err=True)

    try:
        return migrate(connection, rls=rls, waiting=say)
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
