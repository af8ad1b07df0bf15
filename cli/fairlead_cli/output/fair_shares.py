"""What people read of the fairness report: a table of shares, and a sentence on each pool."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import cast

from fairlead.inspection import formats
from fairlead.inspection.rows import Row
from fairlead_cli.output import tables

_STALE = timedelta(seconds=15)
"""How old a report may be at least. The leader looks less often where lanes are many, so one
is of now as long as it is no older than its window, which is a look's span at least."""


def _percent(field: str) -> tables.Column:
    title = "entitled" if field == "entitled_share" else "share"
    return tables.Column(title, lambda row: _said(row, field, "{:.1%}"), right=True)


def _said(row: Row, field: str, form: str) -> str:
    value = cast("float | None", row[field])
    return "-" if value is None else form.format(value)


def _blocked(row: Row) -> str:
    """Say what holds a tenant back; that others go first, or that no slot is free, does not."""
    by = row["blocked_by"]
    return "" if by in (None, "turn", "capacity") else str(by)


COLUMNS = (
    tables.text("queue", "queue"),
    tables.text("tenant", "tenant"),
    tables.Column("weight", lambda row: _said(row, "weight", "{:g}"), right=True),
    _percent("share"),
    _percent("entitled_share"),
    tables.Column("lag", lambda row: _said(row, "lag_slot_seconds", "{:+,.1f}"), right=True),
    tables.Column(
        "waits", lambda row: _said(row, "oldest_wait_seconds", "{:,.1f} s"), right=True
    ),
    tables.Column("runs", lambda row: _said(row, "mean_run_seconds", "{:,.3g} s"), right=True),
    tables.Column("", _blocked),
)
"""Lags are slot-seconds; `waits` is the oldest job's, `runs` the mean."""


def most_first(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that a report knows of, those that had most first."""
    known = [row for row in rows if row["slot_seconds"] is not None]
    return sorted(known, key=lambda row: cast("float", row["slot_seconds"]), reverse=True)


def sentences(pools: Sequence[Row]) -> Iterator[str]:
    """Say of each pool what the shares are of, how old they are, and how even."""
    for pool in pools:
        led = "" if pool["led"] else "; no scheduler leads"
        if pool["pool"] is None:
            yield f"no shares yet: the leader reports every few seconds while jobs run{led}"
            return
        at, since, now = (cast("datetime", pool[name]) for name in ("at", "since", "now"))
        jain = ""
        if pool["jain"] is not None:
            jain = (
                f"; Jain's index {cast('float', pool['jain']):.3f}"
                f" over {pool['jain_tenants']} that waited all the time"
            )
        others = f"; {pool['others']:,} smaller tenants not named" if pool["others"] else ""
        if pool["led"] and not pool["current"]:
            led = "; by the leader before this one"
        elif pool["led"] and now - at > max(_STALE, at - since):
            led = "; nothing has run since"
        yield (
            f"shares of pool '{formats.printable(str(pool['pool']))}' over"
            f" {formats.age(at - since)}, as of {formats.since(at, now=now)} ago"
            f"{jain}{others}{led}"
        )
