"""`fairlead dev reset`: a project's database, emptied."""

import shutil
import sys
from pathlib import Path

import typer

from fairlead_cli.dev import data_folder, own_database, project
from fairlead_cli.dev.binaries import PostgresError
from fairlead_cli.dev.ports import is_free
from fairlead_cli.dev.postgres import Server


def run(*, data_dir: Path | None, yes: bool) -> str:
    """Delete the database and make an empty one with the same URL; return what to say.

    An interruption leaves the former database, or none: the next `fairlead dev` makes one.

    Raises:
        PostgresError: it is in use, or not one that `fairlead dev` made; nothing is deleted.
        typer.Abort: the person did not agree.
    """
    folder = data_dir or project.data_dir(make=False)
    if own_database.instead_of(folder, data_dir=data_dir) is not None:
        raise PostgresError(
            "FAIRLEAD_DATABASE_URL names a database of yours, and only one that `fairlead dev` "
            "made is reset: unset it, or drop the schema fairlead yourself"
        )
    if data_folder.made_with(folder) is None:
        return f"there is no database in {folder}"
    with data_folder.lock(folder):  # it is not in use
        pass
    _agree(folder, yes=yes)
    if data_folder.postmaster(folder) is not None:  # its owner was killed
        with Server(folder):
            pass
    port = data_folder.former_port(folder)
    with data_folder.lock(folder):
        _delete(folder)
    with Server(folder, port=port if port and is_free(port) else None) as server:
        return f"the database in {folder} is empty now; its URL is {server.url}"


def _agree(folder: Path, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise PostgresError(f"this deletes the database in {folder}: say --yes")
    typer.confirm(f"Delete the database in {folder}, its jobs and all tables?", abort=True)


def _delete(folder: Path) -> None:
    """Delete a data folder; it loses its name first, so none is left that looks whole."""
    doomed = data_folder.partial(folder)
    try:
        shutil.rmtree(doomed, ignore_errors=True)
        folder.rename(doomed)
        shutil.rmtree(doomed)
    except OSError as error:
        raise PostgresError(f"{folder} cannot be deleted ({error.strerror})") from None
