"""Type checkers with their defaults accept what works and refuse what does not.

`accepted` and `refused` hold programs of users. In the second each line that a type checker has
to refuse ends in a comment that says so, and no other line may be refused. One run of each type
checker goes over all of them with its defaults; `make check` looks at the first ones strictly.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import tree

FOLDER = Path("tests/typing")
PROGRAMS_LOWEST = 20
_REFUSED = "# refused"
_ERROR = re.compile(rf"({FOLDER}/[\w/]+\.py):(\d+)(?::\d+)?(?: -|:) error")

Line = tuple[str, int]


def programs(folder: str) -> list[Path]:
    """Return the programs of a folder."""
    return sorted(path for path in tree.files(".py") if path.parent == FOLDER / folder)


def marked() -> set[Line]:
    """Return the lines that are to be refused."""
    return {
        (str(path), number)
        for path in programs("refused")
        for number, line in enumerate(tree.text(path).splitlines(), start=1)
        if line.endswith(_REFUSED)
    }


def by_mypy(paths: list[str], _folder: Path) -> str:
    """Run mypy with its defaults, and with a cache of its own."""
    options = ["--config-file=", "--follow-imports=silent", "--explicit-package-bases"]
    cache = "--cache-dir=.mypy_cache/applications"
    return said([sys.executable, "-m", "mypy", *options, cache, *paths])


def by_pyright(paths: list[str], folder: Path) -> str:
    """Run pyright with its defaults."""
    config = folder / "pyrightconfig.json"
    options = {
        "include": [os.path.relpath(tree.ROOT / each, folder) for each in paths],
        "extraPaths": tree.SOURCES.split(os.pathsep),
    }
    config.write_text(json.dumps(options))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    return said([*command, "--project", str(config)]).replace(f"{tree.ROOT}/", "")


def said(command: list[str]) -> str:
    """Run a type checker that finds Fairlead as it is here, and return what it says."""
    done = subprocess.run(
        command,
        cwd=tree.ROOT,
        env={**os.environ, "MYPYPATH": tree.SOURCES},
        check=False,
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("check", [by_mypy, by_pyright])
def test_what_works_is_accepted_and_what_does_not_is_refused(
    check: Callable[[list[str], Path], str], tmp_path: Path
) -> None:
    """Exactly the marked lines are errors, a forgotten `await` among them."""
    paths = [FOLDER / "api.py", *programs("accepted"), *programs("refused")]

    answer = check([str(each) for each in paths], tmp_path)

    found = {(file, int(line)) for file, line in _ERROR.findall(answer)}
    assert (set(), set()) == (marked() - found, found - marked()), answer


def test_there_are_twenty_programs_of_each() -> None:
    """Each program that is to be refused has a line that is; no other one has."""
    refused = {file for file, _ in marked()}

    assert len(programs("accepted")) >= PROGRAMS_LOWEST
    assert len(programs("refused")) >= PROGRAMS_LOWEST
    assert {str(path) for path in programs("refused")} == refused
