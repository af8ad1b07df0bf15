"""The public face says the same to both type checkers."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import tree

API = Path("tests/typing/api.py")
WRONG = '''"""Mistakes that a type checker must see."""
import fairlead
import psycopg

def wrong(connection: psycopg.Connection, job: fairlead.Job) -> None:
    fairlead.enqueue(connection, 5)
    fairlead.enqueue(connection, "a", priority="high")
    fairlead.enqueue(connection, "a", prioritty=1)
    fairlead.enqueue("postgresql://", "a")
    job.extend("long")
    job.id = 5
    fairlead.Snooze()
'''
_MISTAKES = 7


def check(tool: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    """Run a type checker of this environment over some files."""
    command = [sys.executable, "-m", tool, *[str(path) for path in paths]]
    return subprocess.run(command, cwd=tree.ROOT, check=False, capture_output=True, text=True)


@pytest.mark.parametrize("tool", ["mypy", "pyright"])
def test_an_application_is_type_checked(tool: str) -> None:
    """Mypy and pyright infer what an application relies on."""
    checked = check(tool, API)

    assert 0 == checked.returncode, checked.stdout + checked.stderr


@pytest.mark.parametrize("tool", ["mypy", "pyright"])
def test_a_mistake_is_seen(tool: str, tmp_path: Path) -> None:
    """Wrong arguments are errors, one per line."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG)

    checked = check(tool, wrong)

    lines = [
        line for line in checked.stdout.splitlines() if "wrong.py:" in line and "error" in line
    ]
    first = WRONG[: WRONG.index("    fairlead.enqueue(connection, 5)")].count("\n") + 1
    found = {int(line.split("wrong.py:")[1].split(":")[0]) for line in lines}
    assert set(range(first, first + _MISTAKES)) == found, checked.stdout + checked.stderr
