"""`fairlead dev psql`: PostgreSQL's own shell on the database that `fairlead dev` would use."""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from fairlead_cli.dev import data_folder, own_database, project
from fairlead_cli.dev.binaries import PostgresError, binaries, installed
from fairlead_cli.dev.postgres import Server, url_at

_PROGRAM = "psql"


def run(arguments: Sequence[str], *, data_dir: Path | None) -> int:
    """Run psql and return its exit code.

    A project's server that is not running is started, and stopped afterwards.

    Raises:
        PostgresError: there is no psql or no database, or it does not start.
    """
    folder = data_dir or project.data_dir(make=False)
    own = own_database.instead_of(folder, data_dir=data_dir)
    if own is not None:
        return _run(_program(), own_database.with_its_password(own), arguments)
    major = data_folder.made_with(folder)
    if major is None:
        raise PostgresError(
            f"there is no database in {folder}: `fairlead dev --app ...` makes it, in the "
            "folder in which it is started"
        )
    program = _program(binaries(major))
    running = data_folder.postmaster(folder)
    if running is not None:
        return _run(program, url_at(running.port), arguments)
    with Server(folder) as server:
        return _run(program, server.url, arguments)


def _program(beside: Path | None = None) -> Path:
    """Return psql: the server's, else the one on the search path, else any that is here."""
    on_the_path = shutil.which(_PROGRAM)
    found = [
        *([beside / _PROGRAM] if beside else []),
        *([Path(on_the_path)] if on_the_path else []),
        *(folder / _PROGRAM for _, folder in installed()),
    ]
    for each in found:
        if each.is_file():
            return each
    raise PostgresError(
        "there is no psql on this machine: install fairlead[dev], or PostgreSQL's client"
    )


def _run(program: Path, url: str, arguments: Sequence[str]) -> int:
    """Run psql, and leave every Ctrl-C in the terminal to it."""
    database, environment = _without_password(url)
    former = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        with subprocess.Popen(
            [program, "--dbname", database, *arguments], env=environment
        ) as process:
            return process.wait()
    finally:
        signal.signal(signal.SIGINT, former)


def _without_password(url: str) -> tuple[str, Mapping[str, str]]:
    """Return what may stand on a command line, which all users see, and the environment."""
    named = conninfo_to_dict(url)
    password = named.pop("password", None)
    environment = dict(os.environ)
    if password is not None:
        environment["PGPASSWORD"] = str(password)
    return make_conninfo("", **named), environment
