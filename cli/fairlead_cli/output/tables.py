"""Print rows: a table for people that reads well in 80 columns, or JSON for programs."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fairlead.inspection import formats
from fairlead.inspection.rows import Row

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

LONGEST_CELL = 60
_PIPE_WIDTH = 200
_GAP = 2  # between two columns

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its heading, and what a row's cell says."""

    title: str
    says: Callable[[Row], str]
    right: bool = False


def text(title: str, field: str, *, empty: str = "-") -> Column:
    """Return a column that shows a field as it is."""
    return Column(title, lambda row: _line(row[field], empty))


def first_line(title: str, field: str) -> Column:
    """Return a column that shows the first line of a text."""
    return Column(title, lambda row: _line(str(row[field] or "").partition("\n")[0], ""))


def number(title: str, field: str) -> Column:
    """Return a right-aligned column of whole numbers."""
    return Column(
        title, lambda row: "-" if row[field] is None else f"{row[field]:,}", right=True
    )


def table(rows: Sequence[Row], columns: Sequence[Column], *, width: int) -> "Table":
    """Lay rows out in a terminal's width: numbers stay whole, long texts give way."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table

    cells = [[column.says(row) for column in columns] for row in rows]
    widths = [
        max(cell_len(cell) for cell in (column.title, *(line[place] for line in cells)))
        for place, column in enumerate(columns)
    ]
    laid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column, room in zip(columns, fitted(widths, columns, width=width), strict=True):
        side: Literal["left", "right"] = "right" if column.right else "left"
        laid.add_column(column.title, justify=side, width=room, no_wrap=True)
    for line in cells:
        laid.add_row(*line)
    return laid


def fitted(widths: Sequence[int], columns: Sequence[Column], *, width: int) -> tuple[int, ...]:
    """Take from the widest text column until all fit, but never from a heading."""
    rooms = list(widths)
    giving = [place for place, column in enumerate(columns) if not column.right]
    while sum(rooms) + _GAP * (len(rooms) - 1) > width:
        giving = [place for place in giving if rooms[place] > len(columns[place].title)]
        if not giving:
            break
        rooms[max(giving, key=lambda place: rooms[place])] -= 1
    return tuple(rooms)


def console() -> "Console":
    """Return the console of standard output; what a pipe gets is not cut."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(highlight=False, markup=False, emoji=False, width=width)


def rows(found: Sequence[Row], columns: Sequence[Column], *, as_json: bool, none: str) -> None:
    """Print rows as a table, as JSON, or the sentence that there are none."""
    if as_json:
        print_json(found)
    elif found:
        target = console()
        target.print(table(found, columns, width=target.width))
    else:
        typer.echo(none)


def fields(row: Row) -> None:
    """Print what is set of one row, each field below the other, and so each of its lines."""
    given = {name: _word(value) for name, value in row.items() if value not in (None, "")}
    width = max(len(name) for name in given)
    below = "\n" + " " * (width + 2)
    for name, said in given.items():
        typer.echo(f"{name:{width}}  {below.join(map(formats.printable, said.split(chr(10))))}")


def print_json(value: object) -> None:
    """Print one JSON value: instants in ISO form, durations in seconds."""
    typer.echo(json.dumps(value, default=_plain, indent=2))


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return str(value)


def _word(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="milliseconds")
    if isinstance(value, timedelta):
        return formats.age(value)
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _line(value: object, empty: str) -> str:
    said = (
        formats.printable(" ".join(_word(value).split())) if value not in (None, "") else empty
    )
    return said if len(said) <= LONGEST_CELL else said[: LONGEST_CELL - 1] + "…"
