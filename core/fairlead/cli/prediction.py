"""What two policies would do, as a table for people and as JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fairlead.cli import show, words
from fairlead.cli.session import Row

if TYPE_CHECKING:
    from fairlead_scheduler.simulation.comparison import Change, Comparison, Predicted
    from fairlead_scheduler.simulation.scene import Scene
    from fairlead_scheduler.simulation.situation import Situation
    from fairlead_scheduler.simulation.waits import Wait
    from fairlead_scheduler.terms import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be predicted."""

    file: str
    against: str
    seed: int
    horizon: timedelta
    within: timedelta
    trace: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Both policies, what they were to deal with, and what they made of it."""

    asked: Asked
    old: "Table"
    new: "Table"
    situation: "Situation"
    scene: "Scene"
    comparison: "Comparison"

    @property
    def seconds(self) -> float:
        """How long was simulated."""
        return self.comparison.until_us / 1e6


def _pair(title: str, field: str, side: str) -> show.Column:
    return show.Column(title, lambda row: str(row[f"{side} {field}"]), right=True)


_COLUMNS = (
    show.text("queue", "queue"),
    show.text("tenant", "tenant"),
    _pair("share", "share", "old"),
    _pair("new", "share", "new"),
    _pair("wait p50", "p50", "old"),
    _pair("new", "p50", "new"),
    _pair("wait p99", "p99", "old"),
    _pair("new", "p99", "new"),
)


def say(made: Prediction) -> None:
    """Print what was simulated, a line for each tenant, and the whole."""
    for line in _head(made):
        typer.echo(words.printable(line))
    target = show.console()
    target.print(show.table(list(_rows(made.comparison)), _COLUMNS, width=target.width))


def _head(made: Prediction) -> Iterator[str]:
    asked, now, slots = made.asked, made.situation, made.scene.fleet.slots
    named = "no policy" if not made.old.stored else f"version {made.old.stored}"
    yield f"old: {named}, in force; new: {asked.file}, digest {made.new.digest}"
    if asked.against == "live":
        count = words.count(now.backlog, or_more=now.backlog_is_more)
        known = words.age(timedelta(microseconds=now.known_us))
        what = f"{count} jobs wait, {len(now.rows)} are in flight; history of the last {known}"
    else:
        what = f"{len(made.scene.jobs):,} recorded jobs, from the first on"
    yield f"{what}; {slots:,} slots, seed {asked.seed}"
    whole = made.comparison.whole
    yield (
        f"simulated {made.seconds:.3g} s: {whole.old.started:,} jobs start under the old one, "
        f"{whole.new.started:,} under the new one"
    )


def _rows(comparison: "Comparison") -> Iterator[Row]:
    for each in comparison.lanes:
        ((queue, tenant),) = each.lanes
        yield {"queue": queue, "tenant": tenant, **_cells(each)}
    if comparison.other is not None:
        count = len(comparison.other.lanes)
        yield {"queue": "other", "tenant": f"{count:,} tenants", **_cells(comparison.other)}
    yield {"queue": "all", "tenant": "slots in use", **_cells(comparison.whole)}


def _cells(change: "Change") -> Row:
    return {
        f"{side} {field}": said
        for side, told in (("old", change.old), ("new", change.new))
        for field, said in (
            ("share", f"{told.share:.1%}"),
            ("p50", _seconds(told.p50)),
            ("p99", _seconds(told.p99)),
        )
    }


def _seconds(wait: "Wait | None") -> str:
    return "-" if wait is None else f"{'>' if wait.more else ''}{wait.us / 1e6:.2f} s"


def values(made: Prediction) -> Row:
    """Return all of it as JSON takes it: seconds, and shares between 0 and 1."""
    asked, now, comparison = made.asked, made.situation, made.comparison
    return {
        "against": asked.against,
        "seed": asked.seed,
        "simulated_seconds": made.seconds,
        "slots": made.scene.fleet.slots,
        "old": {"version": made.old.stored or None, "digest": made.old.digest or None},
        "new": {"file": asked.file, "digest": made.new.digest},
        "waiting": now.backlog,
        "waiting_is_more": now.backlog_is_more,
        "in_flight": len(now.rows),
        "known_seconds": now.known_us / 1e6,
        "tenants": [
            {"queue": each.lanes[0][0], "tenant": each.lanes[0][1], **_sides(each)}
            for each in comparison.lanes
        ],
        "other": None
        if comparison.other is None
        else {"tenants": len(comparison.other.lanes), **_sides(comparison.other)},
        "all": _sides(comparison.whole),
    }


def _sides(change: "Change") -> Row:
    return {"old": _plain(change.old), "new": _plain(change.new)}


def _plain(told: "Predicted") -> Row:
    found: Row = {"share": told.share, "jobs": told.jobs, "started": told.started}
    for name, wait in (("p50", told.p50), ("p99", told.p99)):
        found[f"wait_{name}_seconds"] = None if wait is None else wait.us / 1e6
        found[f"wait_{name}_is_more"] = wait is not None and wait.more
    return found
