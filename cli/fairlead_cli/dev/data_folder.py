"""The folder that holds one PostgreSQL cluster: who has it, what made it, how it is made."""

import fcntl
import os
import re
import shutil
import subprocess
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from fairlead_cli.dev import process_table
from fairlead_cli.dev.account import Account, refuse_nameless
from fairlead_cli.dev.binaries import PostgresError

SUPERUSER = "fairlead"
_LOG_LINES_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Postmaster:
    """The running server of a data folder, as its `postmaster.pid` names it."""

    pid: int
    port: int


def lock(data_dir: Path) -> IO[str]:
    """Take the folder for this process until the returned file is closed or the process ends.

    Raises:
        PostgresError: another process has it, or its parent cannot be made or written.
    """
    path = data_dir.with_name(data_dir.name + ".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+")
    except OSError as error:
        raise PostgresError(
            f"{path} cannot be written ({error.strerror}): choose another folder"
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        raise PostgresError(
            f"{data_dir} is in use by process {holder}: stop it, or choose another folder"
        ) from error
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def made_with(data_dir: Path) -> int | None:
    """Return the major version of the server that made the folder; None: there is none yet."""
    version = data_dir / "PG_VERSION"
    return int(version.read_text()) if version.exists() else None


def former_port(data_dir: Path) -> int | None:
    """Return the port of the server that ran on the folder last; None: there was none."""
    options = data_dir / "postmaster.opts"
    port = re.search(r'"port=(\d+)"', options.read_text()) if options.exists() else None
    return None if port is None else int(port[1])


def initialise(data_dir: Path, bin_dir: Path, who: Account) -> None:
    """Make a cluster whose superuser is `fairlead`.

    It is made beside its place and renamed, so an interruption leaves no folder that looks
    whole; the next attempt begins anew.

    Raises:
        PostgresError: the folder is a file, is not empty or cannot be entered, the user has no
            name, or `initdb` failed.
    """
    refuse_nameless(who)
    if data_dir.exists() and not data_dir.is_dir():
        raise PostgresError(f"{data_dir} is a file: choose another folder")
    if not who.reaches(data_dir.parent):
        raise PostgresError(
            f"PostgreSQL does not run as root, and the user nobody cannot enter "
            f"{data_dir.parent}: choose a data folder elsewhere, or run as another user"
        )
    if data_dir.exists() and any(data_dir.iterdir()):
        raise PostgresError(
            f"{data_dir} holds files and no PostgreSQL data: choose another folder"
        )
    made = partial(data_dir)
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(mode=0o700)
    who.own(made)
    options = ["--username", SUPERUSER, "--auth", "trust", "--encoding", "UTF8"]
    command = [str(bin_dir / "initdb"), "--pgdata", str(made), "--locale", "C", *options]
    process = who.popen(command, cwd=made, output=subprocess.PIPE)
    said, _ = process.communicate()
    if process.returncode != 0:
        raise PostgresError(f"initdb failed:\n{said.decode(errors='replace').strip()}")
    made.rename(data_dir)


def partial(data_dir: Path) -> Path:
    """Return the name under which a folder is made and deleted; what it holds counts not."""
    return data_dir.with_name(data_dir.name + ".partial")


def postmaster(data_dir: Path) -> Postmaster | None:
    """Return the server that still runs on this folder, or None.

    A file whose process id now belongs to another program is left from a machine or a container
    that stopped hard. It is removed, since PostgreSQL would refuse to start because of it.
    """
    path = data_dir / "postmaster.pid"
    if not path.exists():
        return None
    lines = path.read_text().splitlines()
    process = process_table.living().get(int(lines[0]))
    if process is None:
        return None
    if process.name != "postgres":
        path.unlink()
        return None
    return Postmaster(pid=process.pid, port=int(lines[3]))


def log_end(log: Path, *, since: int) -> str:
    """Return the last lines of a server's log after so many bytes, for an error's text."""
    with log.open(errors="replace") as file:
        file.seek(since)
        return "".join(deque(file, maxlen=_LOG_LINES_SHOWN)).rstrip()
