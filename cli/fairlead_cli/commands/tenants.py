"""`fairlead tenants`: what each has of the slots, and erasing one."""

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from fairlead.inspection import fleet, formats
from fairlead.inspection.rows import Row
from fairlead_cli.batches import Who, in_batches
from fairlead_cli.commands import queues
from fairlead_cli.commands.enqueue import read
from fairlead_cli.errors import NegativeAnswer
from fairlead_cli.output import audit_log, fair_shares, tables
from fairlead_cli.session import acting, ask, session

if TYPE_CHECKING:
    from fairlead.db.connect import Connection

app = typer.Typer(invoke_without_command=True)

_AGAIN_SECONDS = 0.2
COLUMNS = (
    tables.text("queue", "queue"),
    tables.text("tenant", "tenant"),
    queues.PENDING,
    tables.number("queued", "queued"),
    tables.number("running", "running"),
    queues.waiting("oldest_pending_at"),
    queues.PAUSED,
)
_HASH = tables.text("hash", "hash")


@app.callback()
def tenants(
    context: typer.Context,
    *,
    queue: Annotated[str | None, typer.Option(help="Only this queue.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most this many.")] = 50,
    hashes: Annotated[
        bool,
        typer.Option(
            "--hashes",
            help="Show their labels in metrics, too, where FAIRLEAD_METRICS_TENANTS is hashes.",
        ),
    ] = False,
    as_json: tables.AsJson = False,
) -> None:
    """Show the tenants with most work and their slot shares.

    A `+` says that counting stopped there. Running is what workers have taken, begun or not.
    Shares are of the last minute. A lag is in slot-seconds: below zero, a tenant has had less
    than its share.
    """
    if context.invoked_subcommand is not None:
        return
    with session() as connection:
        found = fleet.tenants(connection, queue=queue, limit=limit)
        pools = fleet.shares(connection)
        if hashes:
            found = _hashed(connection, found)
    if as_json:
        tables.print_json(found)
        return
    busy = [row for row in found if row["pending"] or row["queued"] or row["running"]]
    none = "no tenant has unfinished work"
    hashed = (_HASH,) if hashes else ()
    tables.rows(busy, (*COLUMNS, *hashed), as_json=False, none=none)
    for said in ("", *fair_shares.sentences(pools)):
        typer.echo(said)
    served = fair_shares.most_first(found)
    if served:
        tables.rows(served, (*fair_shares.COLUMNS, *hashed), as_json=False, none="")


def _hashed(connection: "Connection", found: Sequence[Row]) -> list[Row]:
    """Add the label that each tenant has in metrics with FAIRLEAD_METRICS_TENANTS=hashes."""
    from fairlead.db.server_identifier import server_identifier
    from fairlead.metrics import tenant_labels

    key = tenant_labels.key_of(server_identifier(connection))
    return [{**row, "hash": tenant_labels.label(key, str(row["tenant"]))} for row in found]


@app.command("erase")
def erase(
    tenant: Annotated[str, typer.Argument(metavar="NAME", help="The tenant.")],
    *,
    wait: Annotated[
        str,
        typer.Option(
            help="Wait for jobs that run to stop, at most this long: 0s, 90s, 5m, 2h."
        ),
    ] = "30s",
    actor: audit_log.Actor = None,
    reason: audit_log.Reason = "",
    as_json: tables.AsJson = False,
) -> None:
    """Erase what the database has of a tenant: schedules, batches, jobs and the history.

    Unfinished jobs are cancelled. A repeat goes on where this one stopped. Stop the
    tenant's applications first: what they insert meanwhile stays. Its name stays in the
    audit log, in pauses and where you wrote it, such as the policy.
    """
    within = read("--wait", wait, formats.duration) or timedelta()
    who = Who(actor, reason)
    with session() as connection:
        with acting(connection, *who):
            schedules = ask(connection, "erase_schedules", {"tenant": tenant})[0]["removed"]
        batches = in_batches(connection, "erase_batches", {"tenant": tenant}, who)["batches"]
        cancelled, left = _cancel(connection, tenant, who, within=within)
        jobs = in_batches(connection, "erase_history", {"tenant": tenant}, who)["erased"]
        ask(connection, "erase_periods", {"tenant": tenant})
    if as_json:
        counts = {"schedules": schedules, "batches": batches, "cancelled": cancelled}
        tables.print_json({"tenant": tenant, **counts, "jobs": jobs, "left": left})
    else:
        typer.echo(
            f"erased schedules ({schedules}), batches ({batches}) and {formats.jobs(jobs)} of "
            f"tenant '{formats.printable(tenant)}'; {cancelled} of its jobs were unfinished"
        )
    if left:
        raise NegativeAnswer(
            f"{formats.jobs(left)} of tenant '{formats.printable(tenant)}' cannot be erased "
            "yet: a worker or another transaction holds them; run this again"
        )


def _cancel(
    connection: "Connection", tenant: str, who: Who, *, within: timedelta
) -> tuple[int, int]:
    """Cancel what is unfinished and wait for what runs; return how many, and those left."""
    until = time.monotonic() + within.total_seconds()
    alike = {"queue": None, "tenant": tenant, "kind": None}
    cancelled = 0
    while True:
        done = in_batches(connection, "cancel_jobs", alike, who)
        cancelled += done["ended"] + done["requested"]
        held, unclaimed = _in_flight(connection, tenant)
        left = done["locked"] + held + unclaimed
        if not left or time.monotonic() >= until:
            return cancelled, left
        time.sleep(_AGAIN_SECONDS)
        # A pass looks at every unfinished job, so none is made only to see that some still run.
        while held and not (done["locked"] or unclaimed) and time.monotonic() < until:
            time.sleep(_AGAIN_SECONDS)
            held, unclaimed = _in_flight(connection, tenant)


def _in_flight(connection: "Connection", tenant: str) -> tuple[int, int]:
    """Return how many unfinished jobs of a tenant workers hold, and how many nobody has yet."""
    (found,) = ask(connection, "in_flight", {"tenant": tenant})
    return int(str(found["held"])), int(str(found["unclaimed"]))
