"""`fairlead trace export`: past traffic as lines of JSON, to simulate other policies with."""

import json
import sys
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fairlead.db import statements
from fairlead.inspection import formats
from fairlead_cli.commands.enqueue import read
from fairlead_cli.errors import CommandError, NegativeAnswer
from fairlead_cli.session import session

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence
    from typing import TextIO

    from fairlead.db.connect import Connection

app = typer.Typer(help="Export recorded traffic for simulations.", no_args_is_help=True)

_FETCHED_AT_ONCE = 5000
_WITHIN_MAX = timedelta(days=3650)
_FIELDS = ("at_us", "queue", "tenant", "cost_us", "priority", "kind")


@app.callback()
def trace() -> None:
    """Take what stands before the command."""


@app.command("export")
def export(
    *,
    within: Annotated[
        str, typer.Option(help="Only jobs that ended within this time: 90s, 5m, 2h, 1d.")
    ] = "1h",
    queue: Annotated[str | None, typer.Option(help="Only this queue.")] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Write what a concurrency key would read there, such as payload.account_id; "
            "may be repeated. Else what keys of the policy in force read.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="The file to write; default: standard output.")
    ] = None,
) -> None:
    """Write one line of JSON per job.

    Its fields are at_us, queue, tenant, cost_us, priority, kind and keys. A file is complete,
    or not there.
    """
    past = read("--within", within, formats.duration)
    if past is None or past > _WITHIN_MAX:
        raise CommandError(f"--within is {within}: give at most {_WITHIN_MAX.days}d")
    asked = {"within": past, "queue": queue}
    given = _paths(key or ())
    with session() as connection:
        keys = given or _of_policy(connection)
        with _opened(output) as file:
            count = 0
            for line in _lines(connection, asked, keys):
                print(line, file=file)
                count += 1
            if not count:
                of = "" if queue is None else f" of queue '{formats.printable(queue)}'"
                raise NegativeAnswer(
                    f"no job{of} ended within {within}: give a longer time with --within"
                )
    if output is not None:
        typer.echo(f"{formats.jobs(count)} written to {output}")


def _paths(given: "Sequence[str]") -> tuple[str, ...]:
    """Return the paths of keys, each once.

    Raises:
        CommandError: one is no path, or there are too many.
    """
    from fairlead.policy.value_types import path
    from fairlead_scheduler.simulation.trace import KEYS_MAX

    for each in given:
        read("--key", each, path().read)
    if len(set(given)) > KEYS_MAX:
        raise CommandError(f"--key is given {len(given)} times: name at most {KEYS_MAX} paths")
    return tuple(dict.fromkeys(given))


def _of_policy(connection: "Connection") -> tuple[str, ...]:
    """Return where the keys of the policy in force look, each place once.

    Raises:
        CommandError: this program cannot read that policy, or its keys look in too many places.
    """
    from fairlead.policy import PolicyRefused, parse
    from fairlead.policy_storage import in_force
    from fairlead_scheduler.simulation.trace import KEYS_MAX

    found = in_force(connection)
    if found is None:
        return ()
    said = f"the policy in force, version {found.version},"
    try:
        policy = parse(found.document)
    except PolicyRefused as error:
        raise CommandError(f"{said} cannot be read: {error}; name keys with --key") from None
    keys = tuple({key.key: None for rule in policy.queues for key in rule.concurrency})
    if len(keys) > KEYS_MAX:
        raise CommandError(
            f"{said} has {len(keys)} keys: name at most {KEYS_MAX} of them with --key"
        )
    return keys


@contextmanager
def _opened(output: Path | None) -> "Generator[TextIO]":
    if output is None:
        yield sys.stdout
        return
    if not output.name:
        raise CommandError(f"--output is '{output}': give a file")
    part = output.with_name(f"{output.name}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            yield file
        part.replace(output)
    except OSError as error:
        raise CommandError(f"--output: {output} cannot be written: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)


def _lines(
    connection: "Connection", asked: "Mapping[str, object]", keys: "Sequence[str]"
) -> "Iterable[str]":
    """Yield one line per job, fetched in portions: a day may hold millions."""
    parted = [key.partition(".") for key in keys]
    roots, paths = [root for root, _, _ in parted], [path for _, _, path in parted]
    with connection.transaction(), connection.cursor("trace") as cursor:
        cursor.itersize = _FETCHED_AT_ONCE
        cursor.execute(
            statements.load("fairlead_cli", "trace"), {**asked, "roots": roots, "paths": paths}
        )
        for *values, found in cursor:
            said = dict(zip(keys, cast("Sequence[str | None]", found), strict=True))
            job = {**dict(zip(_FIELDS, values, strict=True)), "keys": said}
            yield json.dumps(job, ensure_ascii=False)
