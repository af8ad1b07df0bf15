"""The tests that an application has itself, run in a process of their own."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support import tree

_PLAIN = ("-q", "-p", "no:cacheprovider", "-W", "error", "--config-file", os.devnull)


def passed(folder: Path, database_url: str, only: str = ".") -> int:
    """Run the tests in a folder, which is also where modules are; return how many passed.

    One that did not fails the caller's test, with what pytest said. `only` names a file.
    """
    paths = os.pathsep.join([str(folder), tree.SOURCES])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *_PLAIN, "--rootdir", str(folder), only],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "TEST_DATABASE_URL": database_url},
        check=False,
        capture_output=True,
        text=True,
    )
    ended = re.search(r"^(\d+) passed in ", done.stdout, re.MULTILINE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ended is not None, done.stdout + done.stderr
    return int(ended[1])
