"""`fairlead top`: what the fleet does now, again and again, until `q` or Ctrl-C."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fairlead.inspection import fleet, formats
from fairlead.inspection.pool_routing import may_read_policy
from fairlead.inspection.rows import Row
from fairlead_cli.commands.queues import columns
from fairlead_cli.commands.workers import COLUMNS as WORKER_COLUMNS
from fairlead_cli.output import fair_shares, pod_counts, policy_versions, quit_key, tables
from fairlead_cli.session import ask, session

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fairlead.db.connect import Connection
    from fairlead.policy_storage import Version

_ROWS_MAX = 15
_DEAD_SECONDS = 60
"""How long a worker is shown after its death: `fairlead workers list` shows it for an hour."""


@dataclass(frozen=True, slots=True)
class TopSnapshot:
    """What was read at one moment, all of it bounded."""

    queues: tuple[Row, ...]
    tenants: tuple[Row, ...]
    """Those that had most of the slots of late."""
    pools: tuple[Row, ...]
    """What the tenants' shares are of."""
    workers: tuple[Row, ...]
    decisions: tuple[Row, ...]
    """How many pods each pool that is scaled has, and why."""
    policies: "tuple[Version | None, Version | None]"
    """The policy in force, and the one that was stored last; none where it may not be read."""
    counters: Row


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("top")(top)


def top(
    *,
    every: Annotated[
        float, typer.Option(min=0.1, max=3600, help="Seconds between two updates.")
    ] = 1.0,
    count: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many updates.")
    ] = None,
    as_json: tables.AsJson = False,
) -> None:
    """Watch queues, tenants, pools, workers and rates. Without a terminal: one line each time.

    The key q ends it, and so does Ctrl-C. Held are jobs that workers have taken
    and that no slot is free for yet. With --json it prints once, unless --count is given.
    """
    with session() as connection:
        if as_json:
            for before, after in looks(connection, every, count or 1):
                tables.print_json(_as_json(before, after))
        elif sys.stdout.isatty():
            with quit_key.watched() as rest:
                _draw(looks(connection, every, count, rest))
        else:
            for before, after in looks(connection, every, count):
                typer.echo(line(before, after))


def looks(
    connection: "Connection",
    every_seconds: float,
    count: int | None,
    rest: quit_key.Rest = quit_key.no_key,
) -> Iterator[tuple[TopSnapshot, TopSnapshot]]:
    """Yield so many looks, None is without end, each behind the one before it.

    The first one has itself before it. A rest that is ended ends them.
    """
    before = look(connection)
    yield before, before
    while count is None or (count := count - 1) > 0:
        if rest(every_seconds):
            return
        after = look(connection)
        yield before, after
        before = after


def _draw(pairs: Iterator[tuple[TopSnapshot, TopSnapshot]]) -> None:
    """Draw each look over the last one."""
    from rich.live import Live

    console = tables.console()
    with Live(console=console, auto_refresh=False) as live:
        for before, after in pairs:
            live.update(picture(before, after, width=console.width), refresh=True)


def look(connection: "Connection") -> TopSnapshot:
    """Read the moment."""
    return TopSnapshot(
        tuple(fleet.queues(connection)),
        tuple(ask(connection, "served", {"limit": _ROWS_MAX})),
        tuple(fleet.shares(connection)),
        tuple(fleet.workers(connection, dead_seconds=_DEAD_SECONDS)),
        tuple(fleet.pool_decisions(connection)),
        policy_versions.latest(connection) if may_read_policy(connection) else (None, None),
        fleet.counters(connection),
    )


def rate(before: TopSnapshot, after: TopSnapshot, *names: str) -> float:
    """Return how much counters grew per second between two looks; a reset is no growth."""
    seconds = (_now(after) - _now(before)).total_seconds()
    grown = sum(int(str(after.counters[n])) - int(str(before.counters[n])) for n in names)
    return max(grown, 0) / seconds if seconds > 0 else 0.0


def total(snapshot: TopSnapshot, field: str) -> int:
    """Add one column of the queues up."""
    return sum(int(str(row[field])) for row in snapshot.queues)


def running(snapshot: TopSnapshot) -> str:
    """Say how many jobs run, and how many workers hold until a slot is free."""
    held = sum(int(str(row["held"])) for row in snapshot.workers)
    return f"running {total(snapshot, 'running') - held:,} held {held:,}"


def line(before: TopSnapshot, after: TopSnapshot) -> str:
    """Say the moment in one line."""
    pending, scheduled = (
        formats.count(
            total(after, name), or_more=any(row[f"{name}_is_more"] for row in after.queues)
        )
        for name in ("pending", "scheduled")
    )
    living = sum(row["state"] == "live" for row in after.workers)
    in_force, _ = after.policies
    policy = f" policy {in_force.version}" if in_force is not None else ""
    return (
        f"{_clock(after)} pending {pending}"
        f" queued {total(after, 'queued'):,} {running(after)}"
        f" scheduled {scheduled} workers {living}{policy}"
        f" {rates(before, after)}"
    )


def rates(before: TopSnapshot, after: TopSnapshot) -> str:
    """Say how many jobs a second came, started and ended between two looks."""
    if before is after:
        return "in/s - started/s - ended/s -"
    return (
        f"in/s {rate(before, after, 'inserted'):,.0f}"
        f" started/s {rate(before, after, 'started'):,.0f}"
        f" ended/s {rate(before, after, 'succeeded', 'unsuccessful'):,.0f}"
    )


def _now(snapshot: TopSnapshot) -> "datetime":
    return cast("datetime", snapshot.counters["now"])


def _clock(snapshot: TopSnapshot) -> str:
    return f"{_now(snapshot):%H:%M:%S}"


def picture(before: TopSnapshot, after: TopSnapshot, *, width: int) -> "RenderableType":
    """Lay the moment out for a terminal: the first queues and workers, and the rates."""
    from rich.console import Group
    from rich.text import Text

    hidden = len(after.queues) - _ROWS_MAX, len(after.workers) - _ROWS_MAX
    return Group(
        Text(f"{_clock(after)}  {running(after)}  {rates(before, after)}  (q quits)"),
        Text("\n".join([*policy_versions.sentences(*after.policies, now=_now(after)), ""])),
        tables.table(after.queues[:_ROWS_MAX], columns(after.queues), width=width),
        Text(f"and {hidden[0]} more queues" if hidden[0] > 0 else ""),
        Text("\n".join(fair_shares.sentences(after.pools))),
        tables.table(after.tenants, fair_shares.COLUMNS, width=width),
        Text("\n".join(["", *pod_counts.sentences(after.decisions)])),
        tables.table(after.workers[:_ROWS_MAX], WORKER_COLUMNS, width=width),
        Text(f"and {hidden[1]} more workers" if hidden[1] > 0 else ""),
    )


def _as_json(before: TopSnapshot, after: TopSnapshot) -> dict[str, object]:
    growth = {
        "inserted_a_second": rate(before, after, "inserted"),
        "started_a_second": rate(before, after, "started"),
        "ended_a_second": rate(before, after, "succeeded", "unsuccessful"),
    }
    known = None if before is after else growth
    return {
        "queues": after.queues,
        "tenants": after.tenants,
        "workers": after.workers,
        "pool_decisions": after.decisions,
        "policy": dict(
            zip(("in_force", "newest"), map(policy_versions.named, after.policies), strict=True)
        ),
        "counters": after.counters,
        "rates": known,
    }
