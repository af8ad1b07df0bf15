"""As which user an embedded PostgreSQL runs: ours, or `nobody` when we are root.

PostgreSQL refuses to run as root. Containers and CI often are root, so its programs then run
as `nobody`, who owns the data and must be able to read the programs.
"""

import os
import pwd
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from fairlead_cli.dev.binaries import PostgresError


@dataclass(frozen=True, slots=True)
class Account:
    """A user and a group; None stands for the ones that this process has."""

    user: int | None
    group: int | None

    def popen(
        self, command: Sequence[str | Path], *, cwd: Path, output: int | IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Start a command as this account, in a session of its own, without libpq's variables.

        A session of its own, because a Ctrl-C in the terminal goes to every process of the
        terminal's group, and the server must outlive those that write to it.
        """
        return subprocess.Popen(
            command,
            cwd=cwd,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            user=self.user,
            group=self.group,
            extra_groups=None if self.user is None else [],
            start_new_session=True,
        )

    def own(self, path: Path) -> None:
        """Make this account the owner of one file or folder."""
        if self.user is not None and self.group is not None:
            os.chown(path, self.user, self.group)

    def reaches(self, path: Path) -> bool:
        """Tell whether this account can enter the folder."""
        if self.user is None:
            return os.access(path, os.X_OK)
        test = self.popen(
            ["/bin/sh", "-c", 'test -x "$0" && test -r "$0"', path],
            cwd=Path("/"),
            output=subprocess.DEVNULL,
        )
        return test.wait() == 0


def account() -> Account:
    """Return the account that PostgreSQL's programs run as.

    Raises:
        PostgresError: we are root, and there is no user `nobody`.
    """
    if os.geteuid() != 0:
        return Account(None, None)
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise PostgresError(
            "PostgreSQL does not run as root, and this machine has no user nobody: add it, or "
            "run as another user"
        ) from None
    return Account(nobody.pw_uid, nobody.pw_gid)


def refuse_nameless(who: Account) -> None:
    """Refuse a user that `initdb` would refuse, in a sentence that says what to do.

    Raises:
        PostgresError: the user has no name, as in a container that was given a number only.
    """
    user = os.geteuid() if who.user is None else who.user
    try:
        pwd.getpwuid(user)
    except KeyError:
        raise PostgresError(
            f"the user {user} has no entry in /etc/passwd, and PostgreSQL makes no data for "
            "such a user: add one, run as another user, or set FAIRLEAD_DATABASE_URL to a "
            "database of your own"
        ) from None


def state_dir() -> Path:
    """Return the folder for data that belongs to no project, made if it is not there yet.

    `$XDG_STATE_HOME/fairlead`, by default below the home folder; for root, whose home the
    server's account cannot enter, `/var/lib/fairlead`.

    Raises:
        PostgresError: there is no home folder, or it cannot be written.
    """
    folder = Path("/var/lib/fairlead") if os.geteuid() == 0 else _state_home() / "fairlead"
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise PostgresError(
            f"{folder} cannot be made ({error.strerror}): set XDG_STATE_HOME to a folder that "
            "you can write"
        ) from None
    return folder


def _state_home() -> Path:
    given = os.environ.get("XDG_STATE_HOME")
    if given:
        return Path(given)
    try:
        return Path.home() / ".local/state"
    except RuntimeError:  # neither HOME nor an entry in /etc/passwd says where it is
        raise PostgresError(
            "there is no home folder: set HOME or XDG_STATE_HOME to a folder that you can write"
        ) from None


def reachable(bin_dir: Path, who: Account, *, copies: Path) -> Path:
    """Return these programs where the account can read them, copied below `copies` if need be.

    An environment below /root is readable by root alone. The copy (40 MB) has the layout of the
    place it came from, since the programs find their libraries relative to themselves. It is
    made beside its place and renamed, so an interruption leaves nothing half made; a repeat
    finds it and copies nothing.

    Raises:
        PostgresError: `copies` cannot be reached by the account either.
    """
    if who.reaches(bin_dir):
        return bin_dir
    if not who.reaches(copies):
        raise PostgresError(
            f"PostgreSQL does not run as root, and the user nobody can read neither {bin_dir} "
            f"nor {copies}: choose a data folder outside of root's home, or run as another user"
        )
    install = bin_dir.parent
    package = install.parent
    libraries = package.with_name(f"{package.name}.libs")  # where a wheel's repair puts them
    target = copies / f"{install.name}-{bin_dir.stat().st_mtime_ns}"
    if not target.exists():
        partial = target.with_name(target.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        for part in (install, libraries):
            if part.is_dir():
                copy = partial / part.relative_to(package.parent)
                shutil.copytree(part, copy, symlinks=True)
        partial.rename(target)
    return target / bin_dir.relative_to(package.parent)


def _environment() -> Mapping[str, str]:
    """Return our environment without libpq's variables, in the C locale for readable logs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**kept, "LC_ALL": "C"}
