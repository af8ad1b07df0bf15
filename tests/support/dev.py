"""`fairlead dev` as a process of its own, with a few handlers, in a project of its own."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support import tree
from tests.support.databases import fast_folder
from tests.support.waiting import until

_DEV = (sys.executable, "-m", "fairlead_cli", "dev")
_APP = """
import time
import fairlead
tasks = fairlead.Tasks()
@tasks.handler("k")
def k(job): return None
@tasks.handler("sleeps", process=True)
def sleeps(job): time.sleep(job.payload)
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
def project() -> Generator[Path]:
    """Make a project's folder, which the server's account can enter; remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="fairlead-test-", dir=fast_folder()) as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "devapp.py").write_text(_APP)
        yield folder


@contextmanager
def running_dev(
    *words: str,
    workers: str | None = "1",
    within: Path | None = None,
    own: str | None = None,
    app: str = "devapp:tasks",
) -> Generator[Dev]:
    """Run `fairlead dev` with so many workers and these words; at the end it stops well.

    Args:
        words: options.
        workers: None: it is not said.
        within: a project's folder; None: one is made.
        own: the URL of a database of one's own.
        app: which handlers.
    """
    with ExitStack() as stack:
        folder = within or stack.enter_context(project())
        said = folder / "said"
        number = () if workers is None else ("--workers", workers)
        output = stack.enter_context(said.open("wb"))
        dev = stack.enter_context(
            subprocess.Popen(
                [*_DEV, "--app", app, *number, *words],
                cwd=folder,
                stderr=output,
                env=environment(folder, own),
            )
        )
        try:
            url = until(lambda: own or _printed_url(said), what="a URL", seconds=40)
            until(lambda: "Fairlead runs." in said.read_text(), what="a fleet", seconds=40)
            yield Dev(dev.pid, url, folder / ".fairlead/postgres", said)
        finally:
            dev.send_signal(signal.SIGINT)
            dev.wait(40)
            print(said.read_text())  # noqa: T201 - shown where the test fails
    assert 0 == dev.returncode, words


def dev_command(
    *words: str, folder: Path, own: str | None = None, before: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Run `fairlead dev` with these words to its end, without a terminal.

    Args:
        words: its options, or another command of its group.
        folder: the working folder.
        own: the URL in the environment.
        before: a program that starts it.
    """
    return subprocess.run(
        [*before, *_DEV, *words],
        cwd=folder,
        env=environment(folder, own),
        stdin=subprocess.DEVNULL,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


def environment(folder: Path, own: str | None = None) -> dict[str, str]:
    """Return this process's, without what the machine says of buffers.

    Args:
        folder: where programs find the application.
        own: the URL of a database.
    """
    paths = os.pathsep.join([str(folder), tree.SOURCES])
    given = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    url = {} if own is None else {"FAIRLEAD_DATABASE_URL": own}
    # Fleets of other tests run beside it.
    return {"FAIRLEAD_CONSOLE_PORT": "0", **given, **url, "PYTHONPATH": paths}


def _printed_url(said: Path) -> str | None:
    """Return the URL that `fairlead dev` has printed, if it has."""
    _, _, rest = said.read_text().partition("export FAIRLEAD_DATABASE_URL=")
    return rest.split("\n")[0] if "\n" in rest else None
