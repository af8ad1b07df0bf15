"""End what a test run leaves behind when it is killed: servers, programs and what they started.

Whatever a run starts inherits a variable that marks it. A process beside the run waits for its
end, then kills what has the mark, with its descendants (the children of PostgreSQL write over
their variables), and removes the folders of servers. It needs Linux, which tells of variables.
"""

import os
import secrets
import select
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import sleep

from fairlead_cli.dev import process_table
from tests.support import tree

FOLDER = "fairlead-test-"
"""How the names of servers' folders begin."""

_VARIABLE = "TEST_RUN"
_ROUNDS_MAX = 200
_PAUSE_SECONDS = 0.05


def end_with_this_run() -> None:
    """Mark what this process starts from now on, to be ended when this process has ended."""
    if sys.platform != "linux":
        return
    inherited = {name: value for name, value in os.environ.items() if name != _VARIABLE}
    os.environ[_VARIABLE] = mark = f"{os.getpid()}-{secrets.token_hex(8)}"
    os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "tests.support.leftovers", str(os.getpid()), mark],
        {**inherited, "PYTHONPATH": tree.SOURCES},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)
        ],
    )


def main() -> None:
    """Wait for the end of the process that is named first, then end what has the mark."""
    owner, mark = int(sys.argv[1]), sys.argv[2]
    os.setsid()  # a Ctrl-C and a kill of the group are for the run
    await_end(owner)
    folders: set[Path] = set()
    for _ in range(_ROUNDS_MAX):
        doomed = {*marked(mark)}
        if not doomed:
            break
        folders |= {*folders_of(doomed)}
        for pid in doomed:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        sleep(_PAUSE_SECONDS)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def await_end(owner: int) -> None:
    """Wait until this process's parent, the owner, has ended."""
    if sys.platform == "linux":
        with suppress(ProcessLookupError):
            ended = os.pidfd_open(owner)
            if os.getppid() == owner:  # otherwise it is another process of that number
                select.select([ended], [], [])


def marked(mark: str) -> Iterator[int]:
    """Yield the living processes that a run has started, by its mark, and theirs."""
    wanted = f"{_VARIABLE}={mark}".encode()
    living = process_table.living().values()
    found = [each.pid for each in living if wanted in variables(each.pid)]
    while found:
        yield from found
        parents = {*found}
        found = [each.pid for each in living if each.parent in parents]


def variables(pid: int) -> list[bytes]:
    """Return the variables with which a process began; none if it has ended."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def folders_of(pids: set[int]) -> Iterator[Path]:
    """Yield the servers' folders in which these processes work."""
    for pid in pids:
        with suppress(OSError):
            place = Path(f"/proc/{pid}/cwd").readlink()
            yield from (
                each for each in (place, *place.parents) if each.name.startswith(FOLDER)
            )


if __name__ == "__main__":
    main()
