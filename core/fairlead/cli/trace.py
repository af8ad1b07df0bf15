"""`fairlead trace export`: past traffic as lines of JSON, to be judged under another policy."""

import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairlead import sql
from fairlead.cli import words
from fairlead.cli.enqueue import read
from fairlead.cli.problem import Failure, Problem
from fairlead.cli.session import session

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping
    from typing import TextIO

    from fairlead.store import Connection

app = typer.Typer(help="Traffic as it was, for what-ifs.", no_args_is_help=True)

_FETCHED_AT_ONCE = 5000
_FIELDS = ("at_us", "queue", "tenant", "cost_us", "priority")


@app.callback()
def trace() -> None:
    """Take what stands before the command."""


@app.command("export")
def export(
    *,
    within: Annotated[
        str, typer.Option(help="What ended within this time: 90s, 5m, 2h, 1d.")
    ] = "1h",
    queue: Annotated[str | None, typer.Option(help="Only this queue.")] = None,
    output: Annotated[
        Path | None, typer.Option(help="The file to write; standard output otherwise.")
    ] = None,
) -> None:
    """Write one line of JSON per job.

    Its fields are at_us, queue, tenant, cost_us and priority. A file is complete, or not there.
    """
    asked = {"within": read("--within", within, words.duration), "queue": queue}
    with session() as connection, _opened(output) as file:
        count = 0
        for line in _lines(connection, asked):
            print(line, file=file)
            count += 1
        if not count:
            raise Failure(f"no job ended within {within}: give a longer time with --within")
    if output is not None:
        typer.echo(f"{words.jobs(count)} written to {output}")


@contextmanager
def _opened(output: Path | None) -> "Generator[TextIO]":
    if output is None:
        yield sys.stdout
        return
    part = output.with_name(f"{output.name}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            yield file
        part.replace(output)
    except OSError as error:
        raise Problem(f"--output: {output} cannot be written: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)


def _lines(connection: "Connection", asked: "Mapping[str, object]") -> "Iterable[str]":
    """Yield one line per job, fetched in portions: a day may hold millions."""
    with connection.transaction(), connection.cursor("trace") as cursor:
        cursor.itersize = _FETCHED_AT_ONCE
        cursor.execute(sql.load("fairlead.cli", "trace"), asked)
        for values in cursor:
            yield json.dumps(dict(zip(_FIELDS, values, strict=True)), ensure_ascii=False)
