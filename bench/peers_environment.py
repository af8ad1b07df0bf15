"""The peers' own environment: made once from pinned requirements, outside the tree.

The peers are no dependency of Fairlead, and oban needs a newer Python than Fairlead does. The
folder is named after the hash of the requirements and the interpreter, so a changed pin makes
a new environment and an unchanged one is found again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.processes import BrokenRunError, run

REQUIREMENTS = Path(__file__).resolve().parent / "peers-requirements.txt"
_LOWEST_VERSION = (3, 12)
_NAMES = ("python3.14", "python3.13", "python3.12", "python3")


def _version(interpreter: Path) -> tuple[int, int] | None:
    asked = subprocess.run(
        [str(interpreter), "-c", "import sys; print(*sys.version_info[:2])"],
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode:
        return None
    major, minor = asked.stdout.split()
    return int(major), int(minor)


def _candidates() -> list[Path]:
    found = [shutil.which(name) for name in _NAMES]
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    managed = sorted(versions.glob("3.*/bin/python3"), reverse=True)
    return [Path(sys.executable), *(Path(path) for path in found if path), *managed]


def interpreter() -> Path:
    """Return an interpreter that all peers run on; BrokenRunError if the machine has none.

    The lowest suitable version is taken, so that the peers stay near Fairlead's own.
    """
    known = {path: version for path in _candidates() if (version := _version(path))}
    fitting = sorted(
        (version, path) for path, version in known.items() if version >= _LOWEST_VERSION
    )
    if not fitting:
        raise BrokenRunError("the peers need Python 3.12 or newer (oban does), none was found")
    return fitting[0][1]


def _folder(python: Path) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    content = REQUIREMENTS.read_bytes() + str(_version(python)).encode()
    return cache / "fairlead-bench" / f"peers-{hashlib.sha256(content).hexdigest()[:16]}"


def ensure() -> Path:
    """Return the environment's Python, installing the peers first if they are not there.

    A half-made environment is never used: it gets its final name when it is complete.
    """
    python = interpreter()
    folder = _folder(python)
    if not folder.exists():
        print(f"installing the peers into {folder}")
        unfinished = folder.with_suffix(f".{os.getpid()}")
        run([str(python), "-m", "venv", str(unfinished)])
        pip = [str(unfinished / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        run([*pip, "--requirement", str(REQUIREMENTS)], timeout_seconds=900)
        unfinished.rename(folder)
    return folder / "bin" / "python"


def versions(python: Path) -> dict[str, str]:
    """Return the version of every package of the environment, and of its Python."""
    listed = run(
        [str(python), "-m", "pip", "list", "--format=json", "--disable-pip-version-check"]
    )
    packages = {package["name"]: package["version"] for package in json.loads(listed)}
    release = run([str(python), "-c", "import platform; print(platform.python_version())"])
    return {"python": release.strip(), **packages}
