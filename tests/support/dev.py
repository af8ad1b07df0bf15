"""`fairlead dev` as a process of its own, with a few handlers, in a folder of its own."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support import tree
from tests.support.databases import fast_folder
from tests.support.waiting import until

_APP = """
import fairlead
tasks = fairlead.Tasks()
@tasks.handler("k")
def k(job): return None
@tasks.handler("says")
def says(job): print("said by a thread")
@tasks.handler("says_apart", process=True)
def says_apart(job): print("said by a process")
"""


@dataclass(frozen=True, slots=True)
class Dev:
    """A fleet that runs: its process, its database, that one's folder, what it has said."""

    pid: int
    url: str
    data: Path
    said: Path


@contextmanager
def running_dev(*words: str, workers: str | None = "1") -> Generator[Dev]:
    """Run `fairlead dev` with so many workers and these words; at the end it stops well."""
    with tempfile.TemporaryDirectory(prefix="fairlead-test-", dir=fast_folder()) as name:
        folder = Path(name)
        folder.chmod(0o755)  # the server's account must get in
        (folder / "devapp.py").write_text(_APP)
        said, data = folder / "said", folder / "pg"
        number = () if workers is None else ("--workers", workers)
        fixed = ("--app", "devapp:tasks", *number, "--data-dir", str(data))
        with (
            said.open("wb") as output,
            subprocess.Popen(
                [sys.executable, "-m", "fairlead_cli", "dev", *fixed, *words],
                cwd=folder,
                stderr=output,
                env=_environment(folder),
            ) as dev,
        ):
            try:
                url = until(lambda: _printed_url(said), what="a URL", seconds=40)
                yield Dev(dev.pid, url, data, said)
            finally:
                dev.send_signal(signal.SIGINT)
                dev.wait(40)
        assert 0 == dev.returncode, said.read_text()


def _environment(folder: Path) -> dict[str, str]:
    """Return this process's, without what the machine says of buffers."""
    paths = os.pathsep.join([str(folder), tree.SOURCES])
    given = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**given, "PYTHONPATH": paths}


def _printed_url(said: Path) -> str | None:
    """Return the URL that `fairlead dev` has printed, if it has."""
    _, _, rest = said.read_text().partition("export FAIRLEAD_DATABASE_URL=")
    return rest.split("\n")[0] if "\n" in rest else None
