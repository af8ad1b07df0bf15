"""Somebody who follows a page to the letter: types its commands, writes its files."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support import tree
from tests.support.waiting import until

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_URL = re.compile(r"export (FAIRLEAD_DATABASE_URL)=(\S+)\n")
_RUNS = "Fairlead runs."


def blocks(page: str, heading: str, language: str = "") -> list[str]:
    """Return the blocks of a language below a heading of a page."""
    text = page.split(f"\n## {heading}")[1].split("\n## ", maxsplit=1)[0]
    return [block for found, block in _FENCE.findall(text) if found == language]


@dataclass(slots=True)
class Reader:
    """Who reads: a folder, and what terminals in it know."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict[str, str])
    typed: list[str] = field(default_factory=list[str])
    """Every line so far."""

    def has_this_checkout(self) -> None:
        """Have this checkout's commands in all terminals, as if it were installed."""
        bin_dir = Path(sys.executable).parent
        self.environment = {
            **os.environ,
            "FAIRLEAD_CONSOLE_PORT": "0",
            "PATH": f"{bin_dir}:{os.environ['PATH']}",
            "PYTHONPATH": tree.SOURCES,
        }

    def types(self, block: str, code: int = 0) -> str:
        """Type lines into a shell; return what it says."""
        self.typed += block.splitlines()
        done = subprocess.run(
            ["/usr/bin/env", "bash", "-e", "-c", block],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert code == done.returncode, (block, done.stdout)
        return done.stdout

    def writes(self, name: str, source: str) -> None:
        """Write a file."""
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(source)

    @contextmanager
    def leaves_running(self, line: str) -> Generator[None]:
        """Type a `fairlead dev`, export the URL that it prints, press Ctrl-C at the end."""
        self.typed.append(line)
        said = self.folder / "said"
        with said.open("wb") as output:
            running = subprocess.Popen(
                ["/usr/bin/env", "bash", "-c", f"exec {line}"],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            until(lambda: _RUNS in said.read_text(), what="a fleet", seconds=60)
            ((name, url),) = _URL.findall(said.read_text())
            self.environment = {**self.environment, name: url}
            yield
        finally:
            running.send_signal(signal.SIGINT)
            running.wait(60)
            print(said.read_text())  # noqa: T201 - shown where the test fails
        assert 0 == running.returncode, line
