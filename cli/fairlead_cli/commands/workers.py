"""`fairlead workers`: list them, and release by hand what a lost one holds."""

import threading
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fairlead.inspection import fleet, formats
from fairlead.inspection.rows import Row
from fairlead_cli.errors import CommandError, NegativeAnswer
from fairlead_cli.output import audit_log, tables
from fairlead_cli.session import acting, ask, session

if TYPE_CHECKING:
    from fairlead.db.connect import Connection

app = typer.Typer(help="List workers, and release lost ones. Without a command: list them.")

_BATCH = 1000
_DEAD_SECONDS = 3600
_REST_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Released:
    """What became of a worker's jobs: back in the queue, or held by an open transaction."""

    queued: int
    held: int


def _lease(row: Row) -> str:
    if row["state"] == "dead":
        return "-"
    now = cast("datetime", row["now"])
    return formats.until(cast("datetime", row["lease_until"]), now=now)


def _state(row: Row) -> str:
    """Return what the worker does; of a living one also whether its pod is on its way out."""
    if row["state"] != "live" or row["drain_until"] is None:
        return str(row["state"])
    return "draining" if row["drained_at"] is None else "drained"


def _up(row: Row) -> str:
    until = row["dead_at"] or row["now"]
    return formats.since(cast("datetime", row["started_at"]), now=cast("datetime", until))


COLUMNS = (
    tables.Column("id", lambda row: str(row["id"]), right=True),
    tables.text("name", "name"),
    tables.text("pool", "pool"),
    tables.Column("state", _state),
    tables.Column("running", lambda row: f"{row['running']}/{row['slots']}", right=True),
    tables.number("held", "held"),
    tables.Column("up", _up, right=True),
    tables.Column("lease ends in", _lease, right=True),
)


@app.callback(invoke_without_command=True)
def workers(context: typer.Context, *, as_json: tables.AsJson = False) -> None:
    """List workers, unless a command says what else to do."""
    if context.invoked_subcommand is None:
        list_workers(as_json=as_json)
    elif as_json:
        raise CommandError("--json belongs behind the command: `fairlead workers list --json`")


@app.command("list")
def list_workers(
    *,
    all_of_them: Annotated[
        bool, typer.Option("--all", help="Include those that ended more than an hour ago.")
    ] = False,
    as_json: tables.AsJson = False,
) -> None:
    """List workers, their leases, and the jobs that they run and hold.

    They hold jobs that they have taken and that no slot is free for yet. One that has ended is
    dead, also when it ended by itself and in good order.
    """
    with session() as connection:
        dead_seconds = None if all_of_them else _DEAD_SECONDS
        found = fleet.workers(connection, dead_seconds=dead_seconds)
    tables.rows(found, COLUMNS, as_json=as_json, none="no worker has registered")


@app.command("release")
def release(
    name_or_id: Annotated[str, typer.Argument(metavar="NAME_OR_ID", help="The worker.")],
    *,
    wait: Annotated[
        float,
        typer.Option(min=0, max=3600, help="Seconds for open transactions that hold its jobs."),
    ] = 10.0,
    actor: audit_log.Actor = None,
    reason: audit_log.Reason = "",
    as_json: tables.AsJson = False,
) -> None:
    """Mark a worker dead and queue its jobs again. This uses up no attempt.

    What it still does changes nothing; if it lives, it stops its handlers and registers anew.
    """
    with session() as connection:
        worker = _find(connection, name_or_id)
        with acting(connection, actor, reason):
            ask(connection, "mark_dead", {"id": worker})
        released = _release(connection, worker, (actor, reason), wait_seconds=wait)
    queued, held = released.queued, released.held
    if as_json:
        tables.print_json({"id": worker, "released": queued, "held": held})
    else:
        typer.echo(f"worker {worker} is dead; put {formats.jobs(queued)} back into the queue")
    if held:
        raise NegativeAnswer(
            f"open transactions still hold {formats.count(held)} of its jobs: the scheduler "
            "takes them back when those end, or run this again"
        )


@app.command("assign")
def assign(
    pool: Annotated[str, typer.Argument(help="The pool.")],
    release: Annotated[
        str,
        typer.Argument(help="The release, as its FAIRLEAD_RELEASE says; '' frees the pool."),
    ],
    *,
    actor: audit_log.Actor = None,
    reason: audit_log.Reason = "",
    as_json: tables.AsJson = False,
) -> None:
    """Give a pool to another release, whose workers then serve it.

    Workers of its former owner go on until they end, and start no more.
    """
    with session() as connection, acting(connection, actor, reason):
        ((former,),) = (
            row.values()
            for row in ask(connection, "assign_pool", {"pool": pool, "release": release})
        )
    if as_json:
        tables.print_json({"pool": pool, "release": release, "former": former})
    else:
        now = f"belongs to {release}" if release else "is free"
        was = f"; it belonged to {former}" if former else ""
        typer.echo(f"the pool {pool} {now}{was}")


def _find(connection: "Connection", name_or_id: str) -> int:
    number = int(name_or_id) if name_or_id.isascii() and name_or_id.isdigit() else None
    if number is not None and number > formats.ID_MAX:
        raise CommandError(
            f"NAME_OR_ID {name_or_id} is too large for an id: see `workers list`"
        )
    found = ask(connection, "find_worker", {"name": name_or_id, "id": number})
    if not found:
        raise NegativeAnswer(f"worker '{name_or_id}' is unknown: see `fairlead workers list`")
    if len(found) > 1:
        ids = ", ".join(str(row["id"]) for row in found)
        raise CommandError(
            f"NAME_OR_ID '{name_or_id}' names several workers: give one id of {ids}"
        )
    return int(str(found[0]["id"]))


def _release(
    connection: "Connection", worker: int, who: tuple[str | None, str], *, wait_seconds: float
) -> Released:
    """Hand back all that is free, and so long wait for what open transactions hold."""
    until = monotonic() + wait_seconds
    rest = threading.Event()
    released = _hand_back(connection, worker, who)
    queued = released.queued
    if released.held and wait_seconds:
        typer.echo(
            "open transactions, such as their handlers', hold "
            f"{formats.count(released.held)} of its jobs: waiting {wait_seconds:g} s for those",
            err=True,
        )
    while released.held and monotonic() < until:
        rest.wait(_REST_SECONDS)
        released = _hand_back(connection, worker, who)
        queued += released.queued
    return Released(queued, released.held)


def _hand_back(connection: "Connection", worker: int, who: tuple[str | None, str]) -> Released:
    """Ask once for each of its jobs, a batch at a time."""
    queued = held = after = 0
    while True:
        with acting(connection, *who):
            became = ask(
                connection, "hand_back", {"id": worker, "after": after, "limit": _BATCH}
            )
        if not became:
            return Released(queued, held)
        queued += sum(row["became"] == "queued" for row in became)
        held += sum(row["became"] == "locked" for row in became)
        after = max(int(str(row["job_id"])) for row in became)
