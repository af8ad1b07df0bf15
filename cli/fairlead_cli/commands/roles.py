"""`fairlead roles`: which logins may do what, by PostgreSQL's own GRANT and REVOKE."""

from collections.abc import Generator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, LiteralString, cast

import typer

from fairlead.inspection import formats
from fairlead.inspection.rows import Row
from fairlead_cli.errors import CommandError, NegativeAnswer
from fairlead_cli.output import audit_log, tables
from fairlead_cli.session import acting, ask, reached, session

if TYPE_CHECKING:
    from fairlead.db.connect import Connection

app = typer.Typer(
    help="List, grant and revoke what logins may do. Without a command: list them."
)

_INHERIT_SERVER = 160_000
"""From here on each grant says whether its role's rights are inherited."""


class Task(StrEnum):
    """What a login is for."""

    APP = "app"
    WORKER = "worker"
    READER = "reader"
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"
    SCHEDULER = "scheduler"
    AUTOSCALER = "autoscaler"

    @property
    def role(self) -> str:
        """The role that has the task's rights."""
        return "fairlead_enqueue" if self is Task.APP else f"fairlead_{self}"


Login = Annotated[str, typer.Argument(help="The login. It has to exist.")]
As = Annotated[
    Task,
    typer.Option(
        "--as", help="What it is for: docs/reference/sql.md#roles says what each may."
    ),
]


def _names(field: str, *, none: str = "-") -> tables.Column:
    return tables.Column(
        field,
        lambda row: formats.printable(", ".join(cast("list[str]", row[field]))) or none,
    )


COLUMNS = (tables.text("login", "login"), _names("roles"), _names("tenants"), _names("pools"))


@app.callback(invoke_without_command=True)
def roles(context: typer.Context, *, as_json: tables.AsJson = False) -> None:
    """List logins and their roles, unless a command says what else to do."""
    if context.invoked_subcommand is None:
        list_roles(as_json=as_json)
    elif as_json:
        raise CommandError("--json belongs behind the command: `fairlead roles list --json`")


@app.command("list")
def list_roles(
    *,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most this many.")] = 1000,
    as_json: tables.AsJson = False,
) -> None:
    """List logins with their roles, tenants and pools."""
    wanted = {
        "names": [str(each) for each in Task],
        "roles": [each.role for each in Task],
        "limit": limit,
    }
    with session() as connection:
        found = ask(connection, "roles", wanted)
    for row in found:
        if row.pop("owner"):  # whoever made the roles is a member of each without their rights
            row["roles"] = ["owner"]
    tables.rows(found, COLUMNS, as_json=as_json, none="no login has a role of Fairlead's")


@app.command("grant")
def grant(
    login: Login,
    *,
    task: As,
    tenant: Annotated[
        list[str] | None,
        typer.Option(help="With row-level security by tenant: a tenant of its; repeatable."),
    ] = None,
    pool: Annotated[
        list[str] | None,
        typer.Option(help="A pool that a worker's login is bound to; repeatable."),
    ] = None,
    actor: audit_log.Actor = None,
    reason: audit_log.Reason = "",
    as_json: tables.AsJson = False,
) -> None:
    """Give a login what it needs for a task.

    The same as GRANT in SQL, by a login that may grant the role: the one that made the roles,
    or a superuser. A repeat changes nothing.
    """
    if pool and task is not Task.WORKER:
        raise CommandError(f"--pool is for a worker's login: leave it out of --as {task}")
    with reached() as connection, acting(connection, actor, reason):
        _refuse_unknown(connection, login, task)
        _change(connection, "grant", login, task)
        _refuse_without_rights(connection, login, task)
        if tenant:
            ask(connection, "bind_tenants", {"login": login, "tenants": tenant})
        if pool:
            ask(connection, "bind_pools", {"login": login, "pools": pool})
    _say(login, task, f"granted {task.role} to {login}", as_json=as_json)


@app.command("revoke")
def revoke(
    login: Login,
    *,
    task: As,
    as_json: tables.AsJson = False,
) -> None:
    """Take a role from a login. What it is bound to stays, for when it has one again.

    Sessions that are open lose the role's rights with their next statement.
    """
    with reached() as connection, connection.transaction():
        found = _refuse_unknown(connection, login, task)
        _change(connection, "revoke", login, task)
        after = _facts(connection, login, task)
    if after["member"] and not found["superuser"]:
        raise NegativeAnswer(
            f"{login} has {task.role} still, by another role that it is a member of: take that "
            "role from it, too"
        )
    _say(login, task, f"revoked {task.role} from {login}", as_json=as_json)


def _say(login: str, task: Task, sentence: str, *, as_json: bool) -> None:
    if as_json:
        tables.print_json({"login": login, "as": str(task), "role": task.role})
    else:
        typer.echo(sentence)


def _facts(connection: "Connection", login: str, task: Task) -> Row:
    return ask(connection, "role_of_login", {"login": login, "role": task.role})[0]


def _refuse_unknown(connection: "Connection", login: str, task: Task) -> Row:
    """Return the facts of a login and a role that are there."""
    from psycopg import sql

    found = _facts(connection, login, task)
    if not found["role_there"]:
        raise CommandError(
            f"the role {task.role} does not exist: have an administrator run `create role "
            f"{task.role}`, and run `fairlead migrate` again, which gives it its rights"
        )
    if not found["can_login"]:
        fix = "create role {} login password '…'" if found["can_login"] is None else ""
        quoted = sql.Identifier(login).as_string(connection)
        raise CommandError(
            f"LOGIN '{login}' "
            + (
                f"does not exist: `{fix.format(quoted)}` makes it"
                if fix
                else f"may not log in: `alter role {quoted} login` lets it"
            )
        )
    return found


def _refuse_without_rights(connection: "Connection", login: str, task: Task) -> None:
    """Refuse a grant that gives nothing, so that nothing is granted."""
    if not _facts(connection, login, task)["inherits"]:
        raise CommandError(
            f"{login} does not inherit the rights of its roles: run `alter role {login} "
            "inherit` first"
        )


def _change(connection: "Connection", verb: str, login: str, task: Task) -> None:
    """Grant or revoke a role.

    Raises:
        CommandError: this command's login may not.
    """
    from psycopg import sql

    text: LiteralString = "revoke {} from {}"
    if verb == "grant":
        said = connection.info.server_version >= _INHERIT_SERVER
        text = "grant {} to {} with inherit true" if said else "grant {} to {}"
    with _refused(connection, verb, task):
        connection.execute(
            sql.SQL(text).format(sql.Identifier(task.role), sql.Identifier(login))
        )


@contextmanager
def _refused(connection: "Connection", verb: str, task: Task) -> Generator[None]:
    from psycopg.errors import InsufficientPrivilege

    try:
        yield
    except InsufficientPrivilege:
        raise CommandError(
            f"the login {connection.info.user} may not {verb} {task.role}: log in as the one "
            "that made the role, or as a superuser"
        ) from None
