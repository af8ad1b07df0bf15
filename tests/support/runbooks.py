"""The commands of the runbooks: what a page has its reader type, and a shell that runs it."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fairlead_cli.dev.binaries import binaries
from tests.support import tree

RUNBOOKS = Path("docs/runbooks")
EXITS_1_WITH_FINDINGS = ("fairlead doctor",)
"""Commands whose exit code says that they found something."""
_FENCE = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    def served(self, command: str) -> bool:
        """Return whether the command did what its reader wants of it."""
        allowed = {0, 1} if command.startswith(EXITS_1_WITH_FINDINGS) else {0}
        return self.code in allowed and bool(self.out.strip()) and "Traceback" not in self.err


def commands(page: Path) -> tuple[str, ...]:
    """Return every line of a page's shell blocks, in order."""
    return _lines(tree.text(page))


def halves(alert: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the commands of an alert's page that look, and those that mend."""
    looking, mending = tree.text(RUNBOOKS / f"{alert}.md").split("## Mitigation\n")
    return _lines(looking), _lines(mending)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for block in _FENCE.findall(text) for line in block.splitlines() if line)


def words(command: str) -> list[str]:
    """Return a command's words, its variables as they stand there."""
    return shlex.split(command)


def run(command: str, *, url: str, folder: Path, given: Mapping[str, str]) -> Said:
    """Run a command as its reader does: in a shell, with programs and variables at hand.

    Args:
        command: A line of a page.
        url: The database's.
        folder: An empty one, for the program `fairlead` of this checkout.
        given: The variables that the page names.
    """
    program = folder / "fairlead"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m fairlead_cli "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(folder), str(binaries()), os.environ["PATH"]])
    env = {
        "PATH": path,
        "PYTHONPATH": tree.SOURCES,
        "HOME": str(folder),
        "COLUMNS": "200",
        "FAIRLEAD_DATABASE_URL": url,
        **given,
    }
    return shell(command, env=env)


def shell(command: str, *, env: Mapping[str, str], given: str = "") -> Said:
    """Run a command in a shell to which a variable that is not there is a mistake."""
    done = subprocess.run(
        ["/bin/sh", "-uc", command],
        env=env,
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Said(done.returncode, done.stdout, done.stderr)
