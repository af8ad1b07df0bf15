"""Where `fairlead dev` keeps a project's database: `.fairlead`, in the folder it starts in.

Each project has a server of its own, so that no worker is given another project's jobs. As
root the server runs as `nobody`: where that user cannot enter the project, as below root's
home, the data is in `/var/lib/fairlead`, under the project's name and a digest of its path.
"""

import hashlib
from pathlib import Path

from fairlead_cli.dev import account
from fairlead_cli.dev.binaries import PostgresError

_FOLDER = ".fairlead"
_DATA = "postgres"
_IGNORED = "# Written by `fairlead dev`: this folder is a database on one machine.\n*\n"


def data_dir(*, make: bool) -> Path:
    """Return the data folder of the project that this process was started in.

    Args:
        make: whether the folder that is to hold it is made, and hidden from git.

    Raises:
        PostgresError: the working folder is gone, or the folder cannot be made.
    """
    project = _working_folder()
    who = account.account()
    if who.user is not None and not who.reaches(project):
        digest = hashlib.sha256(str(project).encode(errors="surrogateescape")).hexdigest()
        parent = account.state_dir() / "dev"
        data = parent / f"{project.name}-{digest[:12]}"
    else:
        parent = project / _FOLDER
        data = parent / _DATA
    if make:
        _make(parent, hidden=parent.name == _FOLDER, shared=who.user is not None)
    return data


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise PostgresError(
            f"the working folder cannot be used ({error.strerror}): go to your project's folder"
        ) from None


def _make(folder: Path, *, hidden: bool, shared: bool) -> None:
    """Make the folder unless it is there; `shared`: the server's account must enter it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if shared:
            folder.chmod(0o755)
        ignored = folder / ".gitignore"
        if hidden and not ignored.exists():
            ignored.write_text(_IGNORED)
    except OSError as error:
        raise PostgresError(
            f"{folder} cannot be written ({error.strerror}): start `fairlead dev` in a folder "
            "that can be, or say with --data-dir where its database is to live"
        ) from None
