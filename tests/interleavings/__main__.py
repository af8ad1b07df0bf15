"""Replay a schedule that a test has printed, or run all of them and record it.

`make proof SCHEDULE="queued claim+recall AABB"`; what follows the letters takes its course.
`python -m tests.interleavings --record` runs them all, or those that a side leaves as often as
FAIRLEAD_TEST_SWITCHES says; what stands behind it is for pytest: `-k`, `--numprocesses`.
"""

import os
import subprocess
import sys
from contextlib import ExitStack

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.interleavings import page, pauses
from tests.interleavings.exploring import Arena
from tests.interleavings.operations import BY_NAME
from tests.interleavings.schedules import NAMES, read
from tests.support.databases import (
    FAST,
    cloned_database,
    fast_folder,
    make_template,
    running_server,
)


def main(start: str, names: str, letters: str) -> int:
    """Run one schedule; print where each side went and what broke; return whether any did."""
    operations = [BY_NAME[name] for name in names.split("+")]
    with ExitStack() as opened:
        server = opened.enter_context(running_server(FAST, within=fast_folder()))
        make_template(server)
        url = opened.enter_context(cloned_database(server))

        def connect() -> Connection[TupleRow]:
            return opened.enter_context(psycopg.connect(url, autocommit=True))

        pauses.install(connect())
        arena = Arena(connect, len(operations))
        _, found = arena.run(start, operations, read(letters))
        for side in arena.stage.sides:
            sys.stdout.write(f"{NAMES[side.number]}: {', '.join(side.trail)}\n")
    sys.stdout.write("\n".join(found or ["nothing broke"]) + "\n")
    return len(found) > 0


def record(*options: str) -> int:
    """Run the tests of the proof, and write the page of what they ran."""
    command = [sys.executable, "-m", "pytest", "tests/interleavings", "-m", "proof", *options]
    asked = os.environ | {page.RECORD: " ".join(options) or "all"}
    return subprocess.run(command, env=asked, check=False).returncode


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        sys.exit(record(*sys.argv[2:]))
    sys.exit(main(*" ".join(sys.argv[1:]).split()))
