"""What two policies would do, side by side, as a table for people."""

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import typer

from fairlead.inspection import formats
from fairlead.inspection.rows import Row
from fairlead_cli.output import tables

if TYPE_CHECKING:
    from fairlead_scheduler.simulation.simulation_report import Side, SimulationReport


def _pair(title: str, field: str, side: str) -> tables.Column:
    return tables.Column(title, lambda row: str(row[f"{side} {field}"]), right=True)


_COLUMNS = (
    tables.text("queue", "queue"),
    tables.text("tenant", "tenant"),
    _pair("share", "share", "old"),
    _pair("new", "share", "new"),
    _pair("wait p50", "p50", "old"),
    _pair("new", "p50", "new"),
    _pair("wait p99", "p99", "old"),
    _pair("new", "p99", "new"),
)


def say(made: "SimulationReport", new: str) -> None:
    """Print what was simulated, a line for each tenant, and the whole; `new` is its name."""
    for line in _head(made, new):
        typer.echo(formats.printable(line))
    target = tables.console()
    target.print(tables.table(list(_rows(made)), _COLUMNS, width=target.width))


def _head(made: "SimulationReport", new: str) -> Iterator[str]:
    version = made["old"]["version"]
    old = "no policy" if version is None else f"version {version}, in force"
    yield f"old: {old}; new: {new}, digest {made['new']['digest']}"
    if made["against"] == "live":
        count = formats.count(made["waiting"], or_more=made["waiting_is_more"])
        known = formats.age(timedelta(seconds=made["known_seconds"]))
        flying = made["in_flight"]
        what = f"{count} jobs wait, {flying} are in flight; history of the last {known}"
    else:
        what = f"{made['recorded']:,} recorded jobs, from the first on"
    yield f"{what}; {_slots(made)}, seed {made['seed']}"
    yield from made["notes"]
    before, after = made["all"]["old"]["started"], made["all"]["new"]["started"]
    seconds = f"{made['simulated_seconds']:.3g} s"
    yield f"simulated {seconds}: {before:,} jobs start under old, {after:,} under new"


def _slots(made: "SimulationReport") -> str:
    if len(made["pools"]) == 1:
        return f"{made['slots']:,} slots"
    return " and ".join(f"{each['slots']:,} slots in {each['pool']}" for each in made["pools"])


def _rows(made: "SimulationReport") -> Iterator[Row]:
    for each in made["tenants"]:
        named = {"queue": each["queue"], "tenant": each["tenant"]}
        yield {**named, **_cells(each["old"], each["new"])}
    other = made["other"]
    if other is not None:
        named = {"queue": "other", "tenant": f"{other['tenants']:,} tenants"}
        yield {**named, **_cells(other["old"], other["new"])}
    yield {
        "queue": "all",
        "tenant": "slots in use",
        **_cells(made["all"]["old"], made["all"]["new"]),
    }


def _cells(old: "Side", new: "Side") -> Row:
    return {
        f"{name} {field}": said
        for name, side in (("old", old), ("new", new))
        for field, said in (
            ("share", f"{side['share']:.1%}"),
            ("p50", _seconds(side["wait_p50_seconds"], more=side["wait_p50_is_more"])),
            ("p99", _seconds(side["wait_p99_seconds"], more=side["wait_p99_is_more"])),
        )
    }


def _seconds(wait: float | None, *, more: bool) -> str:
    return "-" if wait is None else f"{'>' if more else ''}{wait:.2f} s"
