"""`fairlead workers`: list them, and release by hand what a lost one holds."""

from datetime import datetime
from typing import Annotated, cast

import typer

from fairlead.cli import show, words
from fairlead.cli.problem import Failure, Problem
from fairlead.cli.session import Row, ask, session
from fairlead.store import Connection

app = typer.Typer(help="Look at worker processes and release lost ones.", no_args_is_help=True)

_BATCH = 1000
_ID_MAX = 2**63 - 1


def _lease(row: Row) -> str:
    if row["state"] == "dead":
        return "-"
    now = cast("datetime", row["now"])
    return words.until(cast("datetime", row["lease_until"]), now=now)


def _up(row: Row) -> str:
    return words.since(cast("datetime", row["started_at"]), now=cast("datetime", row["now"]))


COLUMNS = (
    show.Column("id", lambda row: str(row["id"]), right=True),
    show.text("name", "name"),
    show.text("pool", "pool"),
    show.text("state", "state"),
    show.Column("running", lambda row: f"{row['running']}/{row['slots']}", right=True),
    show.Column("up", _up, right=True),
    show.Column("lease ends in", _lease, right=True),
)


@app.command("list")
def list_workers(
    *,
    all_of_them: Annotated[
        bool, typer.Option("--all", help="Those that died more than an hour ago, too.")
    ] = False,
    as_json: show.AsJson = False,
) -> None:
    """List worker processes, their leases and what they run."""
    with session() as connection:
        found = ask(connection, "workers", {"all": all_of_them})
    show.rows(found, COLUMNS, as_json=as_json, none="no worker has registered")


@app.command("release")
def release(
    name_or_id: Annotated[str, typer.Argument(metavar="NAME_OR_ID", help="The worker.")],
    *,
    as_json: show.AsJson = False,
) -> None:
    """Mark a worker dead and queue its jobs again. That uses up no attempt.

    What it still does changes nothing; if it lives, it stops its handlers and registers anew.
    """
    with session() as connection:
        worker = _find(connection, name_or_id)
        ask(connection, "mark_dead", {"id": worker})
        released = _hand_back(connection, worker)
    if as_json:
        show.print_json({"id": worker, "released": released})
    else:
        typer.echo(
            f"worker {worker} is dead; {words.count(released)} jobs are in the queue again"
        )


def _find(connection: Connection, name_or_id: str) -> int:
    number = int(name_or_id) if name_or_id.isascii() and name_or_id.isdigit() else None
    if number is not None and number > _ID_MAX:
        raise Problem(f"NAME_OR_ID {name_or_id} is too large for an id: see `workers list`")
    found = ask(connection, "find_worker", {"name": name_or_id, "id": number})
    if not found:
        raise Failure(f"worker '{name_or_id}' is unknown: see `fairlead workers list`")
    if len(found) > 1:
        ids = ", ".join(str(row["id"]) for row in found)
        raise Problem(f"NAME_OR_ID '{name_or_id}' names several workers: give one id of {ids}")
    return int(str(found[0]["id"]))


def _hand_back(connection: Connection, worker: int) -> int:
    """Hand back in batches until a batch finds nothing that is free to be handed back."""
    total = 0
    while True:
        became = ask(connection, "hand_back", {"id": worker, "limit": _BATCH})
        done = sum(row["became"] != "stale" for row in became)
        total += done
        if done == 0:
            return total
